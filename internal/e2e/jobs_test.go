package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"testing"
)

// job is another program that keeps positions: bytes go in and come out as that program has them.
type job interface {
	put(group, topic, partition, raw string)
	// raw is what is there; gone where nothing is.
	raw(group, topic, partition string) string
}

const gone = "(gone)"

// seed is a job's positions in a topic as bounds makes it, and what a repair makes of them, both byte for byte: partition 0 fell
// off the log's start, 1 lies past its end, 2 is inside, 3 is garbage, 4 and 5 have none, 9 does not exist.
type seed struct {
	job
	store         string
	was, repaired map[string]string
	more          []string // flags of the repair
}

func (s seed) has(t testing.TB, group, topic string, want map[string]string) {
	t.Helper()
	for _, p := range []string{"0", "1", "2", "3", "4", "5", "9"} {
		w, ok := want[p]
		if !ok {
			w = gone
		}
		if got := s.raw(group, topic, p); got != w {
			t.Errorf("%s:%s holds %q, want %q", topic, p, got, w)
		}
	}
}

// sown inspects what a job wrote, is refused a repair that would have to guess, repairs, and takes it back.
func sown(t *testing.T, c *cluster, group string, s seed) {
	t.Helper()
	topic := bounds(c, "orders")
	for _, p := range slices.Sorted(maps.Keys(s.was)) {
		s.put(group, topic, p, s.was[p])
	}
	o := c.operator("OFFSETCTL_STORE=" + s.store)
	o.exits(0, "check", "-g", group, "-t", topic, "--can", "reset").says("ok +store", "!FAIL")
	rows := o.inspect(group)
	seeded := func() {
		t.Helper()
		o.verdict(rows, topic+":0", "head-overflow", 5)
		o.verdict(rows, topic+":1", "tail-overflow", 300)
		o.verdict(rows, topic+":2", "ok", 50)
		o.verdict(rows, topic+":3", "invalid", -1)
		o.verdict(rows, topic+":4", "absent", -1)
		o.verdict(rows, topic+":9", "orphan", 44)
	}
	seeded()
	o.exits(1, "inspect", "-g", group).says("already lost 15", "200 past the log end", regexp.QuoteMeta(shown(s.was["3"])))

	repair := []string{"reset", "-g", group, "-t", topic, "--repair", "--yes", "--settle", "0"}
	o.exits(4, repair...).says("--on-tail-overflow", "--on-invalid")
	s.has(t, group, topic, s.was)
	o.exits(0, append(append(repair, "--on-tail-overflow", "latest", "--on-invalid", "earliest"), s.more...)...).says("written 6 of 6")
	s.has(t, group, topic, s.repaired)
	o.exits(0, "inspect", "-g", group, "-t", topic+":0-5")
	o.exits(0, "history").says("reset", group)
	o.exits(0, "undo", "--yes", "--settle", "0").says("written 6 of 6")
	s.has(t, group, topic, s.was)
	rows = o.inspect(group)
	seeded()

	// What is inside goes into a Kafka group and comes back.
	o.exits(0, "copy", "--from", s.store, "--from-group", group, "--to", c.url(), "--to-group", c.name, "-t", topic+":2", "--yes", "--new-group").says("written 1 of 1")
	plain := c.operator()
	plain.verdict(plain.inspect(c.name), topic+":2", "ok", 50)
	o.exits(0, "copy", "--from", c.url(), "--from-group", c.name, "--to", s.store, "--to-group", group+"-2", "-t", topic+":2", "--yes", "--new-group", "--settle", "0").
		says("written 1 of 1")
	o.verdict(o.inspect(group+"-2"), topic+":2", "ok", 50)
}

// shown is how garbage is shown: printable bytes as they are, others escaped.
func shown(raw string) string {
	q := fmt.Sprintf("%q", raw)
	return q[1 : len(q)-1]
}

// neighbours moves one of many groups with awkward names after the other: each command moves its own, byte for byte.
func neighbours(t *testing.T, c *cluster, store string, groups ...string) {
	t.Helper()
	events, near := c.topic("order_events", 1, "retention.ms", "-1"), c.topic("orderXevents", 1, "retention.ms", "-1")
	c.produce(events, 0, 30, 0)
	c.produce(near, 0, 30, 0)
	o := c.operator("OFFSETCTL_STORE=" + store)
	for _, g := range groups {
		o.exits(0, "reset", "-g", g, "-t", events, "-t", near, "--to-offset", "10", "--allow-skip", "--yes", "--new-group", "--settle", "0").says("written 2 of 2")
	}
	for i, g := range groups {
		if i%2 == 0 {
			o.exits(0, "reset", "-g", g, "-t", events, "--to-earliest", "--yes", "--settle", "0").says("written 1 of 1")
		}
	}
	for i, g := range groups {
		want := int64(10)
		if i%2 == 0 {
			want = 0
		}
		rows := o.inspect(g)
		o.verdict(rows, events+":0", "ok", want)
		o.verdict(rows, near+":0", "ok", 10)
	}
}

// duel lets two operators reset the same positions at once: at least one succeeds, whoever does not is told that they moved, and
// what is there is whole and somebody's who succeeded.
func duel(t *testing.T, c *cluster, store, group string) {
	t.Helper()
	topic := c.topic("raced", 4, "retention.ms", "-1")
	for p := range int32(4) {
		c.produce(topic, p, 50, 0)
	}
	env := "OFFSETCTL_STORE=" + store
	first := c.operator(env)
	first.exits(0, "reset", "-g", group, "-t", topic, "--to-earliest", "--yes", "--new-group", "--settle", "0")
	for round := range 3 {
		var wg sync.WaitGroup
		said := make([]*said, 2)
		at := []int64{int64(10 + round), int64(30 + round)}
		for i := range said {
			o := c.operator(env)
			wg.Go(func() {
				said[i] = o.run("reset", "-g", group, "-t", topic, "--to-offset", fmt.Sprint(at[i]), "--allow-skip", "--yes", "--settle", "0")
			})
		}
		wg.Wait()
		rows := first.inspect(group)
		there := rows[topic+":0"].Stored.Next
		for p := range 4 {
			if n := rows[fmt.Sprintf("%s:%d", topic, p)].Stored.Next; n != there {
				t.Errorf("torn: %d beside %d", n, there)
			}
		}
		won := false
		for i, s := range said {
			switch s.code {
			case 0:
				won = won || there == at[i]
			case 4:
				s.says("moved|changed")
			default:
				t.Errorf("neither done nor refused: %s", s)
			}
		}
		if !won {
			t.Errorf("%d is there, and nobody who wrote it succeeded: %s %s", there, said[0], said[1])
		}
	}
}
