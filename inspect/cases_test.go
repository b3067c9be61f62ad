package inspect_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/offset"
)

// want is what a row must say; a lag of -1 is none.
type want struct {
	p                string
	verdict          inspect.Verdict
	lag, lost, ahead int64
}

func check(t *testing.T, r *inspect.Report, ws ...want) {
	t.Helper()
	for _, w := range ws {
		x := row(t, r, w.p)
		lag := x.Lag
		if !x.LagKnown {
			lag = -1
		}
		if x.Verdict != w.verdict || lag != w.lag || x.Lost != w.lost || x.Ahead != w.ahead {
			t.Errorf("%s: %v lag %d lost %d ahead %d, want %+v; findings %+v", w.p, x.Verdict, lag, x.Lost, x.Ahead, w, x.Findings)
		}
	}
}

func exits(t *testing.T, r *inspect.Report, code int) {
	t.Helper()
	if got := inspect.ExitCode(r, inspect.AnyFinding()); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
}

func TestBR01RetentionOvertook(t *testing.T) {
	w := groups()
	w.Log("orders:0", 1000, 1000)
	w.Log("orders:1", 1000, 1500)
	w.Log("orders:2", 1000, 1500)
	w.Commit("g", "orders:0", 400)
	w.Commit("g", "orders:1", 400)
	w.Commit("g", "orders:2", 1000)
	r := judge(t, w, inspect.Ask{})
	check(t, r, want{p: "orders:0", verdict: inspect.HeadOverflow, lost: 600}, want{p: "orders:1", verdict: inspect.HeadOverflow, lag: 500, lost: 600},
		want{p: "orders:2", verdict: inspect.OK, lag: 500})
	if g := r.Groups[0]; g.Lag != 1000 || g.Lost != 1200 {
		t.Errorf("lag %d lost %d", g.Lag, g.Lost)
	}
	exits(t, r, 1)
	if f := row(t, r, "orders:1").Findings[0]; !strings.Contains(f.Restart, "skips 500 more") || strings.Join(f.Repairs[0].Args, " ") != "reset -g g -t orders:1 --repair" {
		t.Errorf("%+v", f)
	}
}

func TestBR02RecreatedShorter(t *testing.T) {
	w := table()
	w.Log("orders:0", 0, 1600)
	w.Commit("g", "orders:0", 2020)
	r := judge(t, w, inspect.Ask{})
	check(t, r, want{p: "orders:0", verdict: inspect.TailOverflow, lag: -1, ahead: 420})
	exits(t, r, 1)
	x := row(t, r, "orders:0")
	var stop *offset.StopError
	if !errors.As(x.Consume.Err, &stop) || stop.Obstacle != offset.TailOverflow {
		t.Errorf("consume: %+v", x.Consume)
	}
	rs := x.Findings[0].Repairs
	if len(rs) != 2 || rs[0].Effect != "reads" || rs[0].Count != 1600 || rs[1].Effect != "skips" || rs[1].Count != 1600 {
		t.Errorf("%+v", rs)
	}
	if w.Count("logs") != 2 {
		t.Errorf("the end was asked %d times", w.Count("logs"))
	}
}

func TestBR03RecreatedLonger(t *testing.T) {
	t.Run("epoch", func(t *testing.T) {
		w := groups()
		w.Log("orders:0", 0, 10).Epoch = offset.EpochOf(0)
		w.Store("g", "orders:0", value(offset.Stored{State: offset.Set, Next: 5, LeaderEpoch: offset.EpochOf(7)}))
		r := judge(t, w, inspect.Ask{})
		check(t, r, want{p: "orders:0", verdict: inspect.Diverged, lag: 5})
		f := row(t, r, "orders:0").Findings[0]
		if f.Proof || !strings.Contains(f.Text, "epoch 7") || !strings.Contains(f.Text, "at 0") {
			t.Errorf("%+v", f)
		}
		exits(t, r, 1)
	})
	at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	stored := offset.Stored{State: offset.Set, Next: 5, Committed: at}
	for _, c := range []struct {
		name    string
		stamp   time.Time
		stored  offset.Stored
		verdict inspect.Verdict
	}{
		{"younger", at.Add(30 * time.Minute), stored, inspect.Diverged},
		{"older", at.Add(-30 * time.Minute), stored, inspect.OK},
		{"clocks differ a little", at.Add(20 * time.Second), stored, inspect.OK},
		{"no write time", at.Add(30 * time.Minute), set(5), inspect.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := table()
			w.Caps.CommitTime = true
			w.Log("orders:0", 0, 10).Fill(0, 10, c.stamp)
			w.Store("g", "orders:0", value(c.stored))
			r := judge(t, w, inspect.Ask{})
			check(t, r, want{p: "orders:0", verdict: c.verdict, lag: 5})
			if looked := w.Count("peek") > 0; looked != (c.verdict == inspect.Diverged) {
				t.Errorf("a record was fetched: %v", looked)
			}
		})
	}
}

func TestBR04VanishedPartitions(t *testing.T) {
	for name, own := range map[string]bool{"kafka": true, "table": false} {
		t.Run(name, func(t *testing.T) {
			w := table()
			w.Caps.Members = own
			for _, p := range []string{"orders:0", "orders:1", "orders:2", "orders:3"} {
				w.Log(p, 0, 10)
			}
			for _, p := range []string{"orders:0", "orders:1", "orders:2", "orders:3", "orders:4", "orders:5"} {
				w.Commit("g", p, 10)
			}
			r := judge(t, w, inspect.Ask{})
			check(t, r, want{p: "orders:3", verdict: inspect.OK}, want{p: "orders:4", verdict: inspect.Orphan, lag: -1}, want{p: "orders:5", verdict: inspect.Orphan, lag: -1})
			exits(t, r, 1)
			f := row(t, r, "orders:5").Findings[0]
			if row(t, r, "orders:5").Stored.Value.Next != 10 || own != (len(f.Repairs) == 0) || own != strings.Contains(f.Text, "expiry") {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestBR05PartitionsAdded(t *testing.T) {
	w := groups()
	for _, p := range []string{"orders:0", "orders:1", "orders:2"} {
		w.Log(p, 0, 10)
		w.Commit("g", p, 10)
	}
	w.Log("orders:3", 0, 40)
	w.Log("orders:4", 25, 60)
	r := judge(t, w, inspect.Ask{})
	check(t, r, want{p: "orders:2", verdict: inspect.OK}, want{p: "orders:3", verdict: inspect.Absent, lag: 40}, want{p: "orders:4", verdict: inspect.Absent, lag: 35})
	exits(t, r, 1)
	if c := row(t, r, "orders:4").Consume; c.Err != nil || c.Value.Next != 25 {
		t.Errorf("consume %+v", c)
	}
}

func TestBR07Leaderless(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 9)
	w.Log("orders:1", 0, 0).Err = offset.ErrNoLeader
	w.Commit("g", "orders:0", 5)
	w.Commit("g", "orders:1", 5)
	r := judge(t, w, inspect.Ask{})
	check(t, r, want{p: "orders:0", verdict: inspect.OK, lag: 4}, want{p: "orders:1", verdict: inspect.Unknown, lag: -1})
	if x := row(t, r, "orders:1"); x.Stored.Value.Next != 5 || !strings.Contains(x.Detail, "no leader") || r.Groups[0].Unmeasured != 1 {
		t.Errorf("%+v", x)
	}
	exits(t, r, 3)
	if code := inspect.ExitCode(r, nil); code != 3 {
		t.Errorf("unknown is 3 whatever --fail-on says, not %d", code)
	}
}

func TestBR08Sentinels(t *testing.T) {
	w := table()
	for i, raw := range []string{"-1", "-2", "-1001"} {
		p := []string{"orders:0", "orders:1", "orders:2"}[i]
		w.Log(p, 0, 30)
		w.Store("g", p, invalid(raw))
	}
	r := judge(t, w, inspect.Ask{})
	for _, p := range []string{"orders:0", "orders:1", "orders:2"} {
		check(t, r, want{p: p, verdict: inspect.Invalid, lag: -1})
		if row(t, r, p).Consume.Err == nil {
			t.Error("consume would go on at a sentinel")
		}
	}
	if d := row(t, r, "orders:2").Detail; !strings.Contains(d, `"-1001"`) {
		t.Error(d)
	}
	exits(t, r, 1)

	k := groups()
	k.Log("orders:0", 0, 30)
	k.Log("orders:1", 0, 30)
	k.Store("g", "orders:1", invalid("-1"))
	r = judge(t, k, inspect.Ask{Topics: []string{"orders"}})
	check(t, r, want{p: "orders:0", verdict: inspect.Absent, lag: 30}, want{p: "orders:1", verdict: inspect.Invalid, lag: -1})
}

func TestBR09OpenTransaction(t *testing.T) {
	for iso, lag := range map[offset.Isolation]int64{offset.ReadCommitted: 0, offset.ReadUncommitted: 1460} {
		w := groups()
		w.Log("orders:0", 0, 1660).Stable = 200
		w.Commit("g", "orders:0", 200)
		r := judge(t, w, inspect.Ask{Isolation: iso})
		check(t, r, want{p: "orders:0", verdict: inspect.OK, lag: lag})
		x := row(t, r, "orders:0")
		if held := 1460 - lag; x.Held != held || (held > 0) != strings.Contains(x.Detail, "1,460 more in an open transaction") {
			t.Errorf("held %d, %q", x.Held, x.Detail)
		}
		exits(t, r, 0)
	}
}

func TestBR11Expired(t *testing.T) {
	w := groups()
	w.Log("orders:0", 0, 50)
	w.Log("orders:1", 30, 90)
	w.Commit("g", "orders:0", 50)
	r := judge(t, w, inspect.Ask{})
	check(t, r, want{p: "orders:0", verdict: inspect.OK}, want{p: "orders:1", verdict: inspect.Absent, lag: 60})
	exits(t, r, 1)
	x := row(t, r, "orders:1")
	if !strings.Contains(x.Findings[0].Text, "consume starts at 30") || x.Findings[0].Repairs[0].Count != 60 || !x.Beside {
		t.Errorf("%+v", x.Findings)
	}
}

func TestBR12LargeNumbers(t *testing.T) {
	w := table()
	for i, n := range []int64{2623027957, 9007199254740993, 9223372036854775807} {
		p := []string{"orders:0", "orders:1", "orders:2"}[i]
		w.Log(p, 0, 9007199254740993)
		w.Commit("g", p, n)
	}
	w.Log("orders:3", 0, 1)
	w.Store("g", "orders:3", invalid("9223372036854775808"))
	r := judge(t, w, inspect.Ask{})
	check(t, r, want{p: "orders:0", verdict: inspect.OK, lag: 9007199254740993 - 2623027957}, want{p: "orders:1", verdict: inspect.OK},
		want{p: "orders:2", verdict: inspect.TailOverflow, lag: -1, ahead: 9223372036854775807 - 9007199254740993}, want{p: "orders:3", verdict: inspect.Invalid, lag: -1})
}
