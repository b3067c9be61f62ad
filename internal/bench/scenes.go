package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/offsetctl/offsetctl/internal/bench/fake"
)

// Names of programs in the table.
const (
	offsetctl = "offsetctl"
	bareLag   = "kadm.Lag"
	javaTool  = "kafka-consumer-groups"
	kcat      = "kcat"
)

// ground is what a scene is played on.
type ground struct {
	title string
	delay time.Duration // added to each round trip
	real  bool
}

var (
	near    = ground{title: "fake Kafka, loopback"}
	distant = ground{title: "fake Kafka, +1ms a trip", delay: time.Millisecond}
	genuine = ground{title: "real Kafka, loopback", real: true}
)

// scenes are all that is measured, each kind from small to large.
func (b *bench) scenes() (out []scene) {
	out = append(out, b.version())
	for _, n := range []int{2_500, 5_000, 10_000} {
		out = append(out, b.oneGroup(n, near))
	}
	out = append(out, b.oneGroup(10_000, distant), b.oneGroup(10_000, genuine))
	for _, n := range []int{250, 500, 1_000} {
		out = append(out, b.allGroups(n, near))
	}
	out = append(out, b.allGroups(1_000, distant), b.allGroups(1_000, genuine))
	for _, write := range []bool{false, true} {
		out = append(out, b.reset(write, near), b.reset(write, distant), b.reset(write, genuine))
	}
	return out
}

// aims of looks: how many times kadm.Lag's and kafka-consumer-groups' cost.
func aims(g ground) []aim {
	fast := against(javaTool, wallOf, "of kafka-consumer-groups' wall time, aim 1/20", 1.0/20)
	if g.delay > 0 {
		return []aim{against(bareLag, wallOf, "of kadm.Lag's wall time, aim 1", 1), fast}
	}
	return []aim{against(bareLag, cpuOf, "of kadm.Lag's CPU, aim 1.5", 1.5), fast}
}

func (b *bench) version() scene {
	return scene{
		title:    "version",
		programs: func(string) []program { return []program{b.own(nil, "version")} },
		aims:     []aim{atMostWall(30*time.Millisecond, "of 30 ms")},
	}
}

func (b *bench) oneGroup(partitions int, on ground) scene {
	s := scene{
		title: fmt.Sprintf("inspect of one group, %d partitions; %s", partitions, on.title),
		shape: fake.Shape{Topics: 10, Partitions: partitions / 10, Groups: 1, Delay: on.delay},
		real:  on.real,
		aims:  append(aims(on), atMostRSS(64<<20, "of 64 MiB")),
	}
	group := fake.Group(0)
	s.programs = func(broker string) []program {
		ps := []program{
			b.own(says(separated(partitions)+" partitions"), "inspect", "-g", group, "--broker", "kafka://"+broker),
			fixed(bareLag, says(fmt.Sprint(partitions)), b.lag, broker, group),
		}
		if partitions == 10_000 {
			ps = append(ps, b.java(lines(partitions), "--bootstrap-server", broker, "--describe", "--group", group)...)
			ps = append(ps, b.kcatEnds(s.shape, broker)...)
		}
		return ps
	}
	return s
}

func (b *bench) allGroups(groups int, on ground) scene {
	s := scene{
		title: fmt.Sprintf("inspect of all of %d groups of 20 partitions; %s", groups, on.title),
		shape: fake.Shape{Topics: 50, Partitions: 20, Groups: groups, Delay: on.delay},
		real:  on.real,
		aims:  aims(on),
	}
	s.programs = func(broker string) []program {
		ps := []program{
			b.own(says(separated(20*groups)), "inspect", "-A", "--broker", "kafka://"+broker),
			fixed(bareLag, says(fmt.Sprint(20*groups)), b.lag, broker),
		}
		if groups == 1_000 {
			ps = append(ps, b.java(lines(20*groups), "--bootstrap-server", broker, "--describe", "--all-groups")...)
		}
		return ps
	}
	return s
}

// reset moves a group to and fro, so that each run has something to write; each program has a group of its own. A dry run always
// plans to skip.
func (b *bench) reset(write bool, on ground) scene {
	const partitions = 1_000
	kind, last, done := "dry run", []string{"--dry-run"}, "dry run"
	if write {
		kind, last, done = "written", []string{"--yes"}, "written 1,000 of 1,000"
	}
	target := func(round int) string {
		if write && round%2 == 1 {
			return "--to-earliest"
		}
		return "--to-latest"
	}
	s := scene{
		title: fmt.Sprintf("reset of %d partitions, %s; %s", partitions, kind, on.title),
		shape: fake.Shape{Topics: 1, Partitions: partitions, Groups: 2, Records: 2, Delay: on.delay},
		real:  on.real,
		aims:  []aim{against(javaTool, wallOf, "of kafka-consumer-groups' wall time", math.Inf(1))},
	}
	s.programs = func(broker string) []program {
		own := program{name: offsetctl, done: says(done), args: func(round int) []string {
			return append([]string{b.offsetctl, "reset", "-g", fake.Group(0), "-t", fake.Topic(0), target(round), "--broker", "kafka://" + broker, "--no-input"}, last...)
		}}
		ps := []program{own}
		for _, p := range b.java(lines(partitions), "--bootstrap-server", broker, "--reset-offsets", "--group", fake.Group(1), "--topic", fake.Topic(0)) {
			base := p.args(0)
			p.args = func(round int) []string {
				if write {
					return append(base[:len(base):len(base)], target(round), "--execute")
				}
				return append(base[:len(base):len(base)], target(round), "--dry-run")
			}
			ps = append(ps, p)
		}
		return ps
	}
	return s
}

// separated is a count as offsetctl writes it.
func separated(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func fixed(name string, done func([]byte) error, args ...string) program {
	return program{name: name, done: done, args: func(int) []string { return args }}
}

func (b *bench) own(done func([]byte) error, args ...string) program {
	return fixed(offsetctl, done, append([]string{b.offsetctl}, args...)...)
}

// java is kafka-consumer-groups, as its shell script starts it but for flags that make a short run shorter; none where it is not there.
func (b *bench) java(done func([]byte) error, args ...string) []program {
	if b.servers.classPath == "" {
		return nil
	}
	p := fixed(javaTool, done, append([]string{"java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", b.servers.classPath,
		"org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"}, args...)...)
	p.slow = true
	return []program{p}
}

// kcatEnds shows the ends of all partitions: kcat knows nothing of groups, so this is a part of the job.
func (b *bench) kcatEnds(s fake.Shape, broker string) []program {
	if !b.servers.kcat {
		return nil
	}
	args := []string{"kcat", "-b", broker, "-Q"}
	for t := range s.Topics {
		for p := range s.Partitions {
			args = append(args, "-t", fmt.Sprintf("%s:%d:-1", fake.Topic(t), p))
		}
	}
	return []program{fixed(kcat+" -Q (ends alone)", lines(s.Topics*s.Partitions), args...)}
}

// matches tells whether a title has all of the words.
func matches(title string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(title, w) {
			return false
		}
	}
	return true
}
