package sql

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

const jobsOptions = "?table=job&topic=topic&partition=partid&offset=offset"

// What a table cannot take is known before anything is written: Guard says it, Caps claims no deletion, and Write agrees.
func TestGuard(t *testing.T) {
	const columns = `topic TEXT NOT NULL, partid INT NOT NULL, "offset" BIGINT`
	there := offset.Partition{Topic: "orders", Index: 0}
	for _, x := range []struct {
		name, create string
		objects      string // to a new row and to a deletion; "": to nothing
		moves        bool   // rows that are there can be changed
	}{
		{"key", "CREATE TABLE job (" + columns + ", note TEXT, at TEXT NOT NULL DEFAULT 'x', UNIQUE(topic, partid))", "", true},
		{"no key", "CREATE TABLE job (" + columns + ")", "ADD UNIQUE", true},
		{"the job's own value", "CREATE TABLE job (" + columns + ", note TEXT, host TEXT NOT NULL, UNIQUE(topic, partid))", "needs a value in host", true},
		{"view", "CREATE TABLE behind (" + columns + "); CREATE VIEW job AS SELECT * FROM behind", "it is a view", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			path, db := sqliteFile(t, x.create)
			table := "job"
			if !x.moves {
				table = "behind"
			}
			if x.objects == "needs a value in host" {
				exec(t, db, `INSERT INTO job (topic, partid, "offset", host) VALUES ('orders', 0, 5, 'h1')`)
			} else {
				exec(t, db, "INSERT INTO "+table+` (topic, partid, "offset") VALUES ('orders', 0, 5)`)
			}
			s := open(t, quiet(), sqliteAddress(path)+jobsOptions)
			defer func() { _ = s.Close() }()
			if s.Caps().Delete != (x.objects == "") {
				t.Errorf("deletion is claimed: %v", s.Caps().Delete)
			}
			made := offset.Partition{Topic: "orders", Index: 7}
			now := s.Read(context.Background(), []offset.Query{{Group: "g", Expect: []offset.Partition{there, made}}})[0].Expected
			set := offset.Stored{State: offset.Set, Next: 9}
			for what, c := range map[string]offset.Change{
				"a new row":  {Partition: made, From: now[1].Value, To: set},
				"a deletion": {Partition: there, From: now[0].Value, To: offset.Stored{State: offset.Absent}},
				"a move":     {Partition: there, From: now[0].Value, To: set},
			} {
				want := x.objects
				if what == "a move" && x.moves {
					want = ""
				}
				os := s.Guard(context.Background(), "g", []offset.Change{c})
				if (len(os) > 0) != (want != "") || want != "" && (!strings.Contains(os[0].Text, want) || os[0].Allow != "") {
					t.Errorf("%s: objections %+v; there should be: %q", what, os, want)
				}
				r := s.Write(context.Background(), "g", []offset.Change{c})[0]
				if (r.Err != nil) != (want != "") || want != "" && !errors.Is(r.Err, offset.ErrUnsupported) {
					t.Errorf("%s: written, where the objections are %+v: %v", what, os, r.Err)
				}
				if r.Err == nil { // back
					back := s.Write(context.Background(), "g", []offset.Change{{Partition: c.Partition, From: r.Value, To: c.From}})[0]
					if back.Err != nil {
						t.Fatal(back.Err)
					}
				}
			}
		})
	}
}

// Two rows for one partition: which of them holds nobody can say, and no write is tried.
func TestGuardOfTwoRows(t *testing.T) {
	path, db := sqliteFile(t, `CREATE TABLE job (topic TEXT, partid INT, "offset" BIGINT)`)
	exec(t, db, `INSERT INTO job VALUES ('orders', 0, 5), ('orders', 0, 6), ('orders', 1, 7)`)
	s := open(t, quiet(), sqliteAddress(path)+jobsOptions)
	defer func() { _ = s.Close() }()
	ps := []offset.Partition{{Topic: "orders", Index: 0}, {Topic: "orders", Index: 1}}
	var changes []offset.Change
	for i, r := range s.Read(context.Background(), []offset.Query{{Group: "g", Expect: ps}})[0].Expected {
		changes = append(changes, offset.Change{Partition: ps[i], From: r.Value, To: offset.Stored{State: offset.Set, Next: 1}})
	}
	os := s.Guard(context.Background(), "g", changes)
	if len(os) != 1 || !strings.Contains(os[0].Text, "orders:0: table job has more than one row for it (2 rows: 5, 6)") {
		t.Errorf("%+v", os)
	}
	if r := s.Write(context.Background(), "g", changes); !errors.Is(r[0].Err, offset.ErrUnsupported) || r[0].Err.Error() != os[0].Text || !errors.Is(r[1].Err, offset.ErrUntouched) {
		t.Errorf("written: %v, %v", r[0].Err, r[1].Err)
	}
}

// What check would tell of a view: it is asked for nothing that cannot be, and nothing is called permitted that a reset refuses.
func TestPermissionsOfAView(t *testing.T) {
	path, _ := sqliteFile(t, `CREATE TABLE behind (topic TEXT, partid INT, "offset" BIGINT)`, "CREATE VIEW job AS SELECT * FROM behind")
	s := open(t, quiet(), sqliteAddress(path)+jobsOptions)
	defer func() { _ = s.Close() }()
	ps := s.Permissions(context.Background(), "g", nil, true)
	if len(ps) != 2 || !ps[0].Granted || ps[1].Granted || ps[1].Err != nil || !strings.Contains(ps[1].Right, "UPDATE (") || !strings.Contains(ps[1].Right, "it is a view") {
		t.Errorf("%+v", ps)
	}
	if ps := s.Permissions(context.Background(), "g", nil, false); len(ps) != 1 || !ps[0].Granted {
		t.Errorf("to inspect: %+v", ps)
	}
}

// An SQLite file has no schemas: a dot is part of a table's name. And names that its collation folds are told apart in what is said.
func TestTableWithADot(t *testing.T) {
	path, db := sqliteFile(t, `CREATE TABLE "my.job" (topic TEXT COLLATE NOCASE, partid INT, "offset" BIGINT)`)
	exec(t, db, `INSERT INTO "my.job" VALUES ('orders', 0, 5), ('ORDERS', 0, 6), ('orders', 1, 7)`)
	s := open(t, quiet(), sqliteAddress(path)+strings.Replace(jobsOptions, "=job", "=my.job", 1))
	defer func() { _ = s.Close() }()
	ps := []offset.Partition{{Topic: "orders", Index: 0}, {Topic: "orders", Index: 1}}
	now := s.Read(context.Background(), []offset.Query{{Group: "g", Expect: ps}})[0]
	if now.Err != nil || now.Expected[0].Value.Next != 5 {
		t.Fatalf("%+v", now)
	}
	for i, want := range []string{"the database takes the rows of ORDERS:0 and orders:0 for the same", ""} {
		r := s.Write(context.Background(), "g", []offset.Change{{Partition: ps[i], From: now.Expected[i].Value, To: offset.Stored{State: offset.Set, Next: 9}}})[0]
		if (r.Err == nil) != (want == "") || want != "" && !strings.HasPrefix(r.Err.Error(), want) {
			t.Errorf("%s: %v; it should be: %q", ps[i], r.Err, want)
		}
	}
}
