package sql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// seedTable is the layout of a job that keeps its offsets without a group column or a key.
const seedTable = "(topic VARCHAR(200), partid INT, %s BIGINT, note VARCHAR(10) DEFAULT 'kept')"

func ps(topic string, indexes ...int32) (out []offset.Partition) {
	for _, i := range indexes {
		out = append(out, offset.Partition{Topic: topic, Index: i})
	}
	return out
}

func set(n int64) offset.Stored { return offset.Stored{State: offset.Set, Next: n} }

// get reads partitions of group "g".
func get(t testing.TB, s offset.Store, ps ...offset.Partition) []offset.Stored {
	t.Helper()
	a := s.Read(context.Background(), []offset.Query{{Group: "g", Expect: ps}})[0]
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	out := make([]offset.Stored, len(ps))
	for i, r := range a.Expected {
		if r.Err != nil {
			t.Fatalf("%s: %v", ps[i], r.Err)
		}
		out[i] = r.Value
	}
	return out
}

// change makes the changes from what is there to the numbers.
func change(t testing.TB, s offset.Store, ps []offset.Partition, to ...int64) []offset.Change {
	t.Helper()
	ch := make([]offset.Change, len(ps))
	for i, from := range get(t, s, ps...) {
		ch[i] = offset.Change{Partition: ps[i], From: from, To: set(to[i])}
	}
	return ch
}

func write(t testing.TB, s offset.Store, ch []offset.Change) {
	t.Helper()
	for i, r := range s.Write(context.Background(), "g", ch) {
		if r.Err != nil {
			t.Fatalf("%s: %v", ch[i].Partition, r.Err)
		}
	}
}

// everywhere runs a test on SQLite and on every real server. columns are those of the table it makes.
func everywhere(t *testing.T, columns, options string, f func(t *testing.T, p place)) {
	t.Run("sqlite", func(t *testing.T) {
		path, db := sqliteFile(t, "CREATE TABLE t "+sqlite(columns))
		f(t, place{database{server: server{name: "sqlite", driver: "sqlite"}, db: db}, "t", sqliteAddress(path) + "?table=t" + options})
	})
	on(t, func(t *testing.T, d database) {
		table := d.table(t, "case")
		exec(t, d.db, "CREATE TABLE "+table+" "+d.quote(columns))
		f(t, place{d, table, d.address(d.addr, "?table="+table+options)})
	})
}

// place is a table that a test made.
type place struct {
	database
	table, address string
}

func (p place) open(t testing.TB) *Store { return open(t, quiet(), p.address) }

// run runs a statement; TABLE in it is the table.
func (p place) run(t testing.TB, q string, args ...any) {
	t.Helper()
	exec(t, p.db, p.bind(p.quote(strings.ReplaceAll(q, "TABLE", p.table))), args...)
}

// one reads one text.
func (p place) one(t testing.TB, q string, args ...any) string {
	t.Helper()
	var v any
	if err := p.db.QueryRow(p.bind(p.quote(strings.ReplaceAll(q, "TABLE", p.table))), args...).Scan(&v); err != nil {
		t.Fatal(err)
	}
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	return fmt.Sprint(v)
}

// quote writes double quotes as the server wants them.
func (d database) quote(q string) string {
	if d.driver == "mysql" {
		return strings.ReplaceAll(q, `"`, "`")
	}
	return q
}

func sqlite(columns string) string { return strings.ReplaceAll(columns, "VARBINARY", "BLOB") }

// The value is the last record that was done: inspect shows the next one, a reset writes the one before it.
func TestBR10(t *testing.T) {
	everywhere(t, "(grp VARCHAR(50), topic VARCHAR(50), part INT, pos BIGINT, UNIQUE(grp, topic, part))", "&group=grp&topic=topic&partition=part&offset=pos&value=last", func(t *testing.T, p place) {
		p.run(t, "INSERT INTO TABLE VALUES('g','t',0,3),('g','t',1,-1)")
		s := p.open(t)
		at := ps("t", 0, 1)
		got := get(t, s, at...)
		if got[0].Next != 4 || string(got[0].Raw) != "3" || got[1].State != offset.Set || got[1].Next != 0 || string(got[1].Raw) != "-1" {
			t.Fatalf("3 and -1, the last done, read as %+v", got)
		}
		write(t, s, change(t, s, at, 4, 0))
		if a, b := p.one(t, "SELECT pos FROM TABLE WHERE part=0"), p.one(t, "SELECT pos FROM TABLE WHERE part=1"); a != "3" || b != "-1" {
			t.Errorf("positions 4 and 0 were written as %s and %s", a, b)
		}
		write(t, s, change(t, s, ps("t", 2), 9))
		if a := p.one(t, "SELECT pos FROM TABLE WHERE part=2"); a != "8" {
			t.Errorf("a new row for position 9 has %s", a)
		}
		next := open(t, quiet(), strings.Replace(p.address, "value=last", "value=next", 1))
		if got := get(t, next, at...); got[0].Next != 3 || got[1].State != offset.Invalid {
			t.Errorf("undeclared, 3 and -1 read as %+v", got)
		}
	})
}

// Large numbers come and go digit for digit, also through JSON.
func TestBR12(t *testing.T) {
	everywhere(t, "(topic VARCHAR(50), part INT, pos VARCHAR(40), UNIQUE(topic, part))", "&topic=topic&partition=part&offset=pos", func(t *testing.T, p place) {
		texts := []string{"2623027957", "9007199254740993", "9223372036854775807", "9223372036854775808", "12.0", "1e6"}
		for i, x := range texts {
			p.run(t, "INSERT INTO TABLE VALUES('t',?,?)", i, x)
		}
		s := p.open(t)
		at := ps("t", 0, 1, 2, 3, 4, 5)
		got := get(t, s, at...)
		for i, x := range texts {
			text, err := json.Marshal(got[i])
			if err != nil {
				t.Fatal(err)
			}
			if i < 3 && (got[i].State != offset.Set || !strings.Contains(string(text), `"next":`+x)) {
				t.Errorf("%s reads as %s", x, text)
			}
			if i >= 3 && (got[i].State != offset.Invalid || string(got[i].Raw) != x) {
				t.Errorf("%s reads as %s", x, text)
			}
		}
		write(t, s, change(t, s, at[:3], got[2].Next, got[0].Next, got[1].Next))
		if a := p.one(t, "SELECT pos FROM TABLE WHERE part=0") + p.one(t, "SELECT pos FROM TABLE WHERE part=2"); a != texts[2]+texts[1] {
			t.Errorf("written as %s", a)
		}
	})
}

// Groups and topics that differ in a character that patterns use: every other row stays as it is.
func TestBR24(t *testing.T) {
	everywhere(t, "(grp VARCHAR(50), topic VARCHAR(50), part INT, pos BIGINT, note VARCHAR(9) DEFAULT 'kept', UNIQUE(grp, topic, part))", "&group=grp&topic=topic&partition=part&offset=pos", func(t *testing.T, p place) {
		for _, g := range []string{"a", "a:b", "a/b", "a*", "a_c", "axc", "a%"} {
			for _, topic := range []string{"order_events", "orderXevents"} {
				p.run(t, "INSERT INTO TABLE(grp, topic, part, pos) VALUES(?,?,0,100)", g, topic)
			}
		}
		s := p.open(t)
		for n, g := range []string{"a", "a_c", "a*", "a%"} {
			a := s.Read(context.Background(), []offset.Query{{Group: g, Topics: []string{"order_events"}}})[0]
			if a.Err != nil || len(a.Others) != 1 || a.Others[0].Partition.Topic != "order_events" {
				t.Fatalf("group %q, topic order_events: %+v", g, a)
			}
			r := s.Write(context.Background(), g, []offset.Change{{Partition: a.Others[0].Partition, From: a.Others[0].Value, To: set(0)}})
			if r[0].Err != nil {
				t.Fatal(r[0].Err)
			}
			if left := p.one(t, "SELECT count(*) FROM TABLE WHERE pos=100 AND note='kept'"); left != fmt.Sprint(13-n) {
				t.Errorf("after group %q was reset %s rows are as they were, not %d", g, left, 13-n)
			}
		}
	})
}

// One odd value is one invalid partition: its neighbours are judged, and a reset of it writes it alone.
func TestBR32(t *testing.T) {
	everywhere(t, "(topic VARCHAR(50), part INT, pos VARCHAR(40), UNIQUE(topic, part))", "&topic=topic&partition=part&offset=pos", func(t *testing.T, p place) {
		for i, x := range []any{"120", "", "75\n", nil, nil, "abc"} {
			if i != 3 {
				p.run(t, "INSERT INTO TABLE VALUES('t',?,?)", i, x)
			}
		}
		s := p.open(t)
		at := ps("t", 0, 1, 2, 3, 4, 5)
		got := get(t, s, at...)
		for i, want := range []offset.State{offset.Set, offset.Invalid, offset.Set, offset.Absent, offset.Invalid, offset.Invalid} {
			if got[i].State != want {
				t.Errorf("%s is %s, it should be %s", at[i], got[i].State, want)
			}
		}
		if got[0].Next != 120 || got[2].Next != 75 {
			t.Errorf("120 and 75 read as %d and %d", got[0].Next, got[2].Next)
		}
		ch := change(t, s, ps("t", 1, 4), 0, 7)
		write(t, s, ch)
		if a := p.one(t, "SELECT pos FROM TABLE WHERE part=1"); a != "0" {
			t.Errorf("the empty value was reset to %q", a)
		}
		if a := p.one(t, "SELECT count(*) FROM TABLE WHERE part IN (0,2,5) AND pos IN ('120','75\n','abc')"); a != "3" {
			t.Errorf("the neighbours changed: %s of 3 are as they were", a)
		}
		now := get(t, s, ps("t", 1, 4)...)
		write(t, s, []offset.Change{ch[0].Undo(now[0]), ch[1].Undo(now[1])})
		if a := p.one(t, "SELECT count(*) FROM TABLE WHERE part=4 AND pos IS NULL"); a != "1" {
			t.Error("undo does not bring NULL back")
		}
	})
}

// The job writes between our reading and our writing: it is never overwritten.
func TestBR34(t *testing.T) {
	everywhere(t, "(topic VARCHAR(50), part INT, pos BIGINT)", "&topic=topic&partition=part&offset=pos", func(t *testing.T, p place) {
		p.run(t, "INSERT INTO TABLE VALUES('t',0,10),('t',1,20)")
		s := p.open(t)
		ch := change(t, s, ps("t", 1), 5)
		p.run(t, "UPDATE TABLE SET pos=15 WHERE part=0")
		write(t, s, ch)
		if a := p.one(t, "SELECT pos FROM TABLE WHERE part=0"); a != "15" {
			t.Errorf("the job's 15 became %s", a)
		}
		ch = change(t, s, ps("t", 0, 1), 3, 3)
		p.run(t, "UPDATE TABLE SET pos=16 WHERE part=0")
		r := s.Write(context.Background(), "g", ch)
		if !errors.Is(r[0].Err, offset.ErrMoved) || r[0].Value.Next != 16 || !errors.Is(r[1].Err, offset.ErrUntouched) {
			t.Errorf("15 became 16 since it was read, and the write answers %v (%d), %v", r[0].Err, r[0].Value.Next, r[1].Err)
		}
		if a := p.one(t, "SELECT pos FROM TABLE WHERE part=0") + " " + p.one(t, "SELECT pos FROM TABLE WHERE part=1"); a != "16 5" {
			t.Errorf("the rows are %s", a)
		}
	})
}

// Two resets of all partitions at once, a hundred times: never a mixture.
func TestBR37(t *testing.T) {
	everywhere(t, "(topic VARCHAR(50), part INT, pos BIGINT, UNIQUE(topic, part))", "&topic=topic&partition=part&offset=pos", func(t *testing.T, p place) {
		at := ps("t", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		one, two := p.open(t), p.open(t)
		for round := range 100 {
			var wg sync.WaitGroup
			for i, s := range []*Store{one, two} {
				ch := change(t, s, at, to(int64(i+1))...)
				wg.Go(func() {
					for _, r := range s.Write(context.Background(), "g", ch) {
						if r.Err != nil && !errors.Is(r.Err, offset.ErrMoved) && !errors.Is(r.Err, offset.ErrUntouched) {
							t.Errorf("round %d: %v", round, r.Err)
						}
					}
				})
			}
			wg.Wait()
			if a := p.one(t, "SELECT count(DISTINCT pos) FROM TABLE"); a != "1" {
				t.Fatalf("round %d: a mixture of %s positions", round, a)
			}
		}
	})
}

func to(n int64) []int64 { return []int64{n, n, n, n, n, n, n, n, n, n} }

// A table as a job makes it, without a group, a key, or anything: read, reset in place, and nothing more.
func TestJobsOwnTable(t *testing.T) {
	everywhere(t, fmt.Sprintf(seedTable, `"offset"`), "&topic=topic&partition=partid&offset=offset", func(t *testing.T, p place) {
		p.run(t, `INSERT INTO TABLE(topic, partid, "offset") VALUES('mytopic1',0,10),('mytopic1',1,20),('mytopic1',2,30),(NULL,NULL,1)`)
		s := p.open(t)
		at := ps("mytopic1", 0, 1, 2)
		write(t, s, change(t, s, at, 1, 2, 3))
		if a := p.one(t, `SELECT count(*) FROM TABLE WHERE note='kept' AND "offset" IN (1,2,3) AND partid="offset"-1`); a != "3" {
			t.Errorf("%s of 3 rows are right", a)
		}
		if c := s.Caps(); c.Delete || c.Fence || c.Queues {
			t.Errorf("it claims %+v", c)
		}
		r := s.Write(context.Background(), "g", change(t, s, ps("mytopic1", 2, 3), 7, 7))
		if !errors.Is(r[1].Err, offset.ErrUnsupported) || !errors.Is(r[0].Err, offset.ErrUntouched) {
			t.Errorf("a row without a unique key: %v, %v", r[0].Err, r[1].Err)
		}
		a := s.Read(context.Background(), []offset.Query{{Group: "any"}})[0]
		if len(a.Others) != 3 || len(a.Gaps) != 1 {
			t.Errorf("3 positions and a row of NULLs: %+v", a)
		}
		if groups, _, err := s.Groups(context.Background()); err != nil || len(groups) != 1 {
			t.Errorf("groups %q, %v", groups, err)
		}
		if w := s.Warnings(context.Background()); len(w) == 0 || !strings.Contains(w[0].Text, "no unique key") {
			t.Errorf("warnings: %v", w)
		}
		// Two rows for one partition: which of them holds nobody can say.
		p.run(t, `INSERT INTO TABLE(topic, partid, "offset") VALUES('mytopic1',1,99)`)
		got := get(t, s, at...)
		if got[1].State != offset.Invalid || string(got[1].Raw) != "2 rows: 2, 99" || got[0].State != offset.Set {
			t.Errorf("two rows: %+v", got)
		}
		r = s.Write(context.Background(), "g", change(t, s, at, 5, 5, 5))
		if !errors.Is(r[1].Err, offset.ErrUnsupported) || !strings.Contains(r[1].Err.Error(), "more than one row") {
			t.Errorf("two rows: %v", r[1].Err)
		}
		if a := p.one(t, `SELECT count(*) FROM TABLE WHERE "offset"=5`); a != "0" {
			t.Errorf("%s rows were written", a)
		}
	})
}
