package main

import (
	"fmt"
	"time"

	"github.com/offsetctl/offsetctl/internal/bench/fake"
)

// scene is one job on one cluster, done by several programs in turn.
type scene struct {
	title    string
	shape    fake.Shape // Topics 0: no cluster
	real     bool       // on the real Kafka
	programs func(broker string) []program
	aims     []aim
}

// aim is a ratio that the first program should keep to. Nothing is asserted: it is printed.
type aim struct {
	text string
	most float64
	of   func(byName func(string) (cost, bool)) (float64, bool)
}

// outcome is a scene's medians, in the order of its programs.
type outcome struct {
	scene scene
	names []string
	costs []cost
}

func (o *outcome) byName(name string) (cost, bool) {
	for i, n := range o.names {
		if n == name {
			return o.costs[i], true
		}
	}
	return cost{}, false
}

// rounds is how often a scene's programs run.
type rounds struct{ quick, slow int }

// play starts a scene's cluster and runs its programs.
func (b *bench) play(s scene) (out *outcome, err error) {
	broker := ""
	if s.shape.Topics > 0 {
		var at []string
		if s.real {
			at = []string{b.servers.kafka}
		}
		c, err := fake.Start(s.shape, at...)
		if err != nil {
			return nil, err
		}
		defer func() {
			if stopped := c.Stop(); err == nil {
				err = stopped
			}
		}()
		broker = c.Brokers[0]
	}
	return b.inTurns(s, s.programs(broker))
}

// inTurns runs the programs in turn, each round beginning with another one, so that whatever else the machine does hits all alike.
func (b *bench) inTurns(s scene, programs []program) (*outcome, error) {
	all := make([][]cost, len(programs))
	for round := range b.rounds.quick {
		for k := range programs {
			i := (k + round) % len(programs)
			if programs[i].slow && round >= b.rounds.slow {
				continue
			}
			c, err := programs[i].measure(round, b.env)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.title, err)
			}
			all[i] = append(all[i], c)
		}
	}
	out := &outcome{scene: s}
	for i, p := range programs {
		if len(all[i]) > 0 {
			out.names, out.costs = append(out.names, p.name), append(out.costs, median(all[i]))
		}
	}
	return out, nil
}

// against compares one of our numbers with another program's.
func against(name string, of func(cost) float64, text string, most float64) aim {
	return aim{text: text, most: most, of: func(byName func(string) (cost, bool)) (float64, bool) {
		own, ok := byName(offsetctl)
		other, there := byName(name)
		return of(own) / of(other), ok && there && of(other) > 0
	}}
}

func wallOf(c cost) float64 { return c.wall.Seconds() }
func cpuOf(c cost) float64  { return c.cpu.Seconds() }

// below compares one of our numbers with a fixed one.
func below(limit float64, of func(cost) float64, text string) aim {
	return aim{text: text, most: 1, of: func(byName func(string) (cost, bool)) (float64, bool) {
		own, ok := byName(offsetctl)
		return of(own) / limit, ok
	}}
}

func atMostRSS(bytes int64, text string) aim {
	return below(float64(bytes), func(c cost) float64 { return float64(c.rss) }, text)
}

func atMostWall(d time.Duration, text string) aim { return below(d.Seconds(), wallOf, text) }
