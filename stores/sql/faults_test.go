package sql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// The connection is cut at every statement of a write, before and after the server gets it: the rows are both old or both new,
// and the columns that are not ours keep their values.
func TestBR33(t *testing.T) {
	on(t, func(t *testing.T, d database) {
		own := d.ownTable(t, "cut")
		exec(t, d.db, "ALTER TABLE "+own+" ADD COLUMN note VARCHAR(9) DEFAULT 'new'")
		user := d.table(t, "cut")
		exec(t, d.db, "CREATE TABLE "+user+" (topic VARCHAR(50), part INT, off BIGINT, note VARCHAR(9) DEFAULT 'new')")
		exec(t, d.db, "INSERT INTO "+user+" VALUES('t',0,10,'kept'),('t',1,10,'kept')")
		write(t, open(t, quiet(), d.address(d.addr, "?table="+own)), change(t, open(t, quiet(), d.address(d.addr, "?table="+own)), ps("t", 0, 1), 10, 10))
		exec(t, d.db, "UPDATE "+own+" SET note='kept'")
		for table, options := range map[string]string{own: "?table=" + own, user: "?table=" + user + "&topic=topic&partition=part&offset=off"} {
			for _, v := range []verdict{drop, orphan} {
				cutEverywhere(t, place{d, table, d.address(d.addr, options)}, options, v)
			}
		}
	})
}

func cutEverywhere(t *testing.T, p place, options string, v verdict) {
	for n := int64(1); ; n++ {
		x := newProxy(t, p.addr)
		s := open(t, quiet(), p.database.address(x.addr, options))
		at := ps("t", 0, 1)
		ch := change(t, s, at, 100+n, 100+n)
		var packets atomic.Int64
		var cut atomic.Bool
		x.set(func([]byte) verdict {
			if packets.Add(1) == n {
				cut.Store(true)
				return v
			}
			return pass
		})
		r := s.Write(context.Background(), "g", ch)
		_ = s.Close()
		now := get(t, p.open(t), at...)
		for i := range at {
			if wrote := now[i].Next == 100+n; wrote != (r[i].Err == nil) || !wrote && now[i].Version != ch[i].From.Version {
				t.Errorf("cut at packet %d: %s is %d (was %d), and the write answers %v", n, at[i], now[i].Next, ch[i].From.Next, r[i].Err)
			}
		}
		if now[0].Next != now[1].Next {
			t.Fatalf("cut at packet %d: the rows are %d and %d", n, now[0].Next, now[1].Next)
		}
		if a := p.one(t, "SELECT count(*) FROM TABLE WHERE note='kept'"); a != "2" {
			t.Fatalf("cut at packet %d: %s of 2 rows keep the column that is not ours", n, a)
		}
		if !cut.Load() {
			if n < 4 {
				t.Fatalf("a write took %d packets", n-1)
			}
			return
		}
	}
}

// COMMIT is under way in the network when the connection is lost, and arrives a second later: looking at once would show the
// old value.
func TestCommitArrivesLate(t *testing.T) {
	on(t, func(t *testing.T, d database) {
		table := d.ownTable(t, "late")
		x := newProxy(t, d.addr)
		s := open(t, quiet(), d.address(x.addr, "?table="+table))
		for round, partitions := range [][]offset.Partition{ps("t", 0, 1), ps("t", 0, 1)} { // rows that are made, rows that are changed
			ch := change(t, s, partitions, int64(round+5), int64(round+6))
			x.onCommit(late)
			write(t, s, ch)
			if got := get(t, s, partitions...); got[0].Next != int64(round+5) || got[1].Next != int64(round+6) {
				t.Errorf("round %d: %d, %d", round, got[0].Next, got[1].Next)
			}
		}
	})
}

// The job writes after our COMMIT whose answer was lost: by its version our row's successor is told from our own failure.
func TestOvertakenAfterLostAnswer(t *testing.T) {
	on(t, func(t *testing.T, d database) {
		table := d.table(t, "overtaken")
		exec(t, d.db, "CREATE TABLE "+table+" (topic VARCHAR(50), part INT, off BIGINT)")
		exec(t, d.db, "INSERT INTO "+table+" VALUES('t',0,10)")
		x := newProxy(t, d.addr)
		s := open(t, quiet(), d.address(x.addr, "?table="+table+"&topic=topic&partition=part&offset=off"))
		ch := change(t, s, ps("t", 0), 5)
		x.onCommit(drop)
		// Between the lost COMMIT and the second look the job moves on.
		job := make(chan struct{})
		x.mu.Lock()
		judge := x.judge
		x.judge = func(packet []byte) verdict {
			v := judge(packet)
			if v == drop {
				go func() {
					defer close(job)
					exec(t, d.db, "UPDATE "+table+" SET off=11")
				}()
			}
			return v
		}
		x.mu.Unlock()
		r := s.Write(context.Background(), "g", ch)[0]
		<-job
		if now := get(t, s, ps("t", 0)...)[0]; now.Next != 11 {
			t.Errorf("the job's 11 is lost: %d", now.Next)
		}
		if r.Err != nil && !errors.Is(r.Err, offset.ErrMoved) {
			t.Errorf("it answers %v", r.Err)
		}
	})
}

// The database takes Orders and orders for one name: the one is not the other's position, and neither is reset.
func TestBR36(t *testing.T) {
	for _, x := range []struct{ name, column string }{
		{"mariadb", "VARCHAR(50) COLLATE utf8mb4_general_ci"}, {"mysql8", "VARCHAR(50) COLLATE utf8mb4_0900_ai_ci"}, {"sqlite", "TEXT COLLATE NOCASE"},
	} {
		t.Run(x.name, func(t *testing.T) {
			columns, options := "(grp VARCHAR(50), topic "+x.column+", part INT, pos BIGINT, UNIQUE(grp, topic, part))", "&group=grp&topic=topic&partition=part&offset=pos"
			var p place
			if x.name == "sqlite" {
				path, db := sqliteFile(t, "CREATE TABLE t "+columns)
				p = place{database{server: server{name: "sqlite", driver: "sqlite"}, db: db}, "t", sqliteAddress(path) + "?table=t" + options}
			} else {
				d := connect(t, server{name: x.name, scheme: "mysql", driver: "mysql", dsn: mysqlDSN})
				table := d.table(t, "folding")
				exec(t, d.db, "CREATE TABLE "+table+" "+columns)
				p = place{d, table, d.address(d.addr, "?table="+table+options)}
			}
			p.run(t, "INSERT INTO TABLE VALUES('g','Orders',0,900)")
			s := p.open(t)
			got := get(t, s, offset.Partition{Topic: "Orders"}, offset.Partition{Topic: "orders"})
			if got[0].Next != 900 || got[1].State != offset.Absent {
				t.Errorf("Orders is %+v, orders is %+v", got[0], got[1])
			}
			r := s.Write(context.Background(), "g", change(t, s, ps("orders", 0), 50))[0]
			if !errors.Is(r.Err, offset.ErrUnsupported) || !strings.Contains(r.Err.Error(), "Orders") {
				t.Errorf("a reset of orders answers %v", r.Err)
			}
			if a := p.one(t, "SELECT pos FROM TABLE"); a != "900" {
				t.Errorf("Orders became %s", a)
			}
			write(t, s, change(t, s, ps("Orders", 0), 50)) // alone it is told apart
			if w := fmt.Sprint(s.Warnings(context.Background())); !strings.Contains(w, "column topic of table") {
				t.Errorf("warnings: %s", w)
			}
		})
	}
	t.Run("own table", func(t *testing.T) {
		on(t, func(t *testing.T, d database) {
			s := open(t, quiet(), d.address(d.addr, "?table="+d.ownTable(t, "bytes")))
			for i, topic := range []string{"Orders", "orders", "orders "} {
				write(t, s, change(t, s, ps(topic, 0), int64(i+1)))
			}
			got := get(t, s, offset.Partition{Topic: "Orders"}, offset.Partition{Topic: "orders"}, offset.Partition{Topic: "orders "})
			if fmt.Sprint(got[0].Next, got[1].Next, got[2].Next) != "1 2 3" {
				t.Errorf("%+v", got)
			}
		})
	})
}

// Two names that fold together and no key: a statement that means one row would hit both.
func TestFoldingWithoutKey(t *testing.T) {
	d := connect(t, servers[0])
	table := d.table(t, "folding")
	exec(t, d.db, "CREATE TABLE "+table+" (topic VARCHAR(50) COLLATE utf8mb4_general_ci, part INT, pos BIGINT)")
	exec(t, d.db, "INSERT INTO "+table+" VALUES('Orders',0,900),('orders',0,10)")
	s := open(t, quiet(), d.address(d.addr, "?table="+table+"&topic=topic&partition=part&offset=pos"))
	both := []offset.Partition{{Topic: "Orders"}, {Topic: "orders"}}
	if r := s.Write(context.Background(), "g", change(t, s, both[1:], 50))[0]; !errors.Is(r.Err, offset.ErrUnsupported) {
		t.Errorf("one of two: %v", r.Err)
	}
	if r := s.Write(context.Background(), "g", change(t, s, both, 50, 60)); !errors.Is(r[0].Err, offset.ErrUnsupported) {
		t.Errorf("both: %v", r[0].Err)
	}
	if got := get(t, s, both...); got[0].Next != 900 || got[1].Next != 10 {
		t.Errorf("%+v", got)
	}
}
