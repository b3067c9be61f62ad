package repair

import (
	stdsql "database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/stores/sql"
)

// Values of which the bytes alone do not say what they were come back as the kind that they were: NULL is not the word NULL, and
// a number is not its digits.
func TestUndoRestoresTheKindOfAValue(t *testing.T) {
	everyPlace(t, []string{"fake"}, []string{"sqlite"}, func(t *testing.T, p *place) {
		db, err := stdsql.Open("sqlite", strings.TrimPrefix(p.addr, "sqlite:"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		const create = `CREATE TABLE job (topic TEXT, partid INT, "offset" BLOB, UNIQUE(topic, partid))`
		for _, values := range [][3]string{{"NULL", "'NULL'", "x'4e554c4c'"}, {"1.5", "'1.5'", "x'312e35'"}, {"-7", "'-7'", "NULL"}} {
			for _, q := range []string{"DROP TABLE IF EXISTS job", create,
				"INSERT INTO job VALUES ('" + p.topic + "', 0, " + values[0] + "), ('" + p.topic + "', 1, " + values[1] + "), ('" + p.topic + "', 2, " + values[2] + ")"} {
				if _, err := db.Exec(q); err != nil {
					t.Fatal(err)
				}
			}
			kinds := func() (out []string) {
				t.Helper()
				rows, err := db.Query(`SELECT typeof("offset") || ' ' || quote("offset") FROM job ORDER BY partid`)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = rows.Close() }()
				for rows.Next() {
					var s string
					if err := rows.Scan(&s); err != nil {
						t.Fatal(err)
					}
					out = append(out, s)
				}
				if err := rows.Err(); err != nil {
					t.Fatal(err)
				}
				return out
			}
			before := kinds()
			job := *p
			job.addr += "?table=job&topic=topic&partition=partid&offset=offset"
			if job.store, err = sql.Open(t.Context(), driverEnv(), parseAddress(t, job.addr, sql.SQLiteForm)); err != nil {
				t.Fatal(err)
			}
			r := job.run(t, t.TempDir())
			a := apply(t, r, job.plan(t, r, to(20)))
			if a.Count(Written) != 3 {
				t.Fatalf("%v", statuses(a))
			}
			takeBack(t, r, a)
			if after := kinds(); !slices.Equal(after, before) {
				t.Errorf("before %q, after the undo %q", before, after)
			}
			_ = job.store.Close()
		}
	})
}
