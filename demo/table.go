package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver of the table
)

// tableOptions point offsetctl at the table: it has no group column, so it is one group.
const tableOptions = "?table=job_offsets&topic=topic&partition=partid&offset=offset"

// table makes a job's own table of offsets, with the faults that a broker's group cannot show: a text that is no number,
// a row of a partition that does not exist, positions before and past the log.
func (w *World) table(ctx context.Context, dir string) (err error) {
	file := filepath.Join(dir, "offsets.db")
	w.Store = "sqlite:" + file + tableOptions
	if _, err := os.Stat(file); err == nil {
		return fmt.Errorf("%s is there already: the demo wants a folder of its own", file)
	}
	db, err := sql.Open("sqlite", "file:"+file+"?mode=rwc")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, `CREATE TABLE job_offsets (topic TEXT NOT NULL, partid INTEGER NOT NULL, offset, note TEXT, PRIMARY KEY (topic, partid))`); err != nil {
		return err
	}
	for _, r := range []struct {
		topic  string
		part   int
		offset any
	}{
		{"orders", 0, 860}, {"orders", 1, 120}, {"orders", 2, 860}, {"orders", 3, 890}, {"orders", 4, "n/a"}, {"orders", 5, 290}, {"orders", 9, 77},
		{"payments", 0, 402}, {"refunds", 0, 999},
	} {
		if _, err := db.ExecContext(ctx, `INSERT INTO job_offsets VALUES (?, ?, ?, 'written by the job')`, r.topic, r.part, r.offset); err != nil {
			return err
		}
	}
	return nil
}
