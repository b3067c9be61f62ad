package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// half is a group of 2,500 positions, more than one request takes, on a broker that holds one commit until the test has struck.
type half struct {
	o      *operator
	c      *cluster
	held   chan struct{} // the commit is there
	strike chan struct{} // closed: go on
}

// toTheEnd moves every position to the log end, which is 0.
const toTheEnd = "reset -g g -t many --to-latest --yes"

// newHalf makes the nth commit of the program wait for the test.
func newHalf(t *testing.T, nth int) *half {
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2500, "many"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	h := &half{c: clusterAt(t, fake.ListenAddrs()[0]), held: make(chan struct{}), strike: make(chan struct{})}
	h.o = h.c.operator()
	os := kadm.Offsets{}
	for p := range int32(2500) {
		os.Add(kadm.Offset{Topic: "many", Partition: p, At: 7, LeaderEpoch: -1})
	}
	res, err := h.c.adm.CommitOffsets(h.c.ctx, "g", os)
	h.c.must(err)
	h.c.must(res.Error())
	n := 0
	fake.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if n++; n == nth {
			close(h.held)
			<-h.strike
		}
		return nil, nil, false
	})
	return h
}

// written counts the positions that were moved.
func (h *half) written() (n int) {
	h.c.t.Helper()
	os, err := h.c.adm.FetchOffsets(h.c.ctx, "g")
	h.c.must(err)
	os.Each(func(o kadm.OffsetResponse) {
		if o.At == 0 {
			n++
		}
	})
	return n
}

// TestInterruptedHalfWay: SIGINT during the first of three requests: it is finished, the others are not begun, and that is said.
func TestInterruptedHalfWay(t *testing.T) {
	t.Parallel()
	h := newHalf(t, 1)
	r := h.o.start(strings.Fields(toTheEnd)...)
	<-h.held
	r.signal(syscall.SIGINT)
	time.Sleep(200 * time.Millisecond)
	close(h.strike)
	r.ends(130).says("interrupted: written 1,000 of 2,500", "1,500 not tried", "journal 1", "offsetctl undo 1")
	if n := h.written(); n != 1000 {
		t.Errorf("%d are written", n)
	}
	h.o.exits(0, "history").says("1,?000 of 2,?500")
	h.o.exits(0, strings.Fields(toTheEnd)...).says("written 1,500 of 1,500")
	if n := h.written(); n != 2500 {
		t.Errorf("%d are written", n)
	}
	h.o.exits(0, "undo", "2", "--yes").says("written 1,500 of 1,500")
	h.o.exits(0, "undo", "1", "--yes").says("written 1,000 of 1,000")
	if n := h.written(); n != 0 {
		t.Errorf("%d are written after both undos", n)
	}
}

// TestTerminatedHalfWay: the same by SIGTERM has an exit code of its own.
func TestTerminatedHalfWay(t *testing.T) {
	t.Parallel()
	h := newHalf(t, 2)
	r := h.o.start(strings.Fields(toTheEnd)...)
	<-h.held
	r.signal(syscall.SIGTERM)
	time.Sleep(200 * time.Millisecond)
	close(h.strike)
	r.ends(143).says("interrupted: written 2,000 of 2,500", "500 not tried", "journal 1")
}

// TestKilledHalfWay: SIGKILL during the second request. The journal has the first one's results; of the others the store tells.
func TestKilledHalfWay(t *testing.T) {
	t.Parallel()
	h := newHalf(t, 2)
	r := h.o.start(strings.Fields(toTheEnd)...)
	<-h.held
	r.kill()
	close(h.strike) // the broker has it already, and goes on
	h.c.until("the broker has done the second request", func() bool { return h.written() == 2000 })
	h.o.exits(0, "history").says("NOT RECORDED")
	h.o.exits(0, "history", "1", "-o", "json").says(`"status": ?"written"`, "was not written")
	h.o.exits(0, "undo", "1", "--yes").says("written 2,000 of 2,000")
	if n := h.written(); n != 0 {
		t.Errorf("%d are written after the undo", n)
	}
}
