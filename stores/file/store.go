// Package file keeps positions in one JSON file, which is replaced as a whole under a lock.
package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

// Form is a file's address.
var Form = address.Form{Schemes: []string{"file"}, Example: "file:offsets.json", Opaque: true}

// Store is one file. Writers take turns by the lock file beside it (FILE.lock); readers need no lock, for a file is only ever
// replaced by a finished one. Programs that write the file without the lock are outside that order.
type Store struct {
	env  offset.Env
	path string
	sync func(*os.File) error // tests of order, not of power failures, leave it out
}

var (
	_ offset.Store        = (*Store)(nil)
	_ offset.GroupDeleter = (*Store)(nil)
	_ offset.Permitter    = (*Store)(nil)
)

// Open looks whether the file is there; what is in it is looked at by every Read.
func Open(_ context.Context, env offset.Env, a address.Address) (offset.Store, error) {
	env.Call(a.Path, "open")
	path, err := filepath.EvalSymlinks(a.Path) // a link stays a link
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return nil, offset.As(offset.ErrConfig, fmt.Errorf("file %s is no regular file", a.Path))
		}
	}
	if err != nil {
		return nil, explain(a.Path, "opening it", err)
	}
	return &Store{env, path, (*os.File).Sync}, nil
}

// Close has nothing to give back.
func (s *Store) Close() error { return nil }

// Caps tells what a file can do.
func (s *Store) Caps() offset.Caps {
	return offset.Caps{Atomic: true, Together: offset.PerGroup, Fence: true, Delete: true, Metadata: true, CommitTime: true, Queues: true}
}

// Groups lists the groups in the file.
func (s *Store) Groups(ctx context.Context) ([]string, []error, error) {
	d, err := s.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	var groups []string
	for _, e := range d.Offsets {
		groups = append(groups, string(e.Group))
	}
	return slices.Compact(groups), nil, nil // entries are sorted
}

// Read reads the file once, whatever is asked.
func (s *Store) Read(ctx context.Context, qs []offset.Query) []offset.Answer {
	out := make([]offset.Answer, len(qs))
	if len(qs) == 0 {
		return out
	}
	d, err := s.load(ctx)
	for i, q := range qs {
		out[i].Expected = make([]offset.Result[offset.Stored], len(q.Expect))
		if out[i].Err = err; err == nil {
			d.answer(q, &out[i])
		}
	}
	return out
}

// answer walks the group's entries and the question, both of which are sorted.
func (d document) answer(q offset.Query, out *offset.Answer) {
	for k := range q.Expect {
		out.Expected[k].Value = offset.Stored{State: offset.Absent, Version: absent}
	}
	k := 0
	for _, e := range d.group(q.Group) {
		p := e.partition()
		for k < len(q.Expect) && q.Expect[k].Compare(p) < 0 {
			k++
		}
		switch {
		case k < len(q.Expect) && q.Expect[k] == p:
			out.Expected[k].Value = e.stored()
		case q.Topics == nil || slices.Contains(q.Topics, p.Topic):
			out.Others = append(out.Others, offset.Entry{Partition: p, Result: offset.Result[offset.Stored]{Value: e.stored()}})
		}
	}
}

// load reads and checks the file.
func (s *Store) load(ctx context.Context) (document, error) {
	if err := ctx.Err(); err != nil {
		return document{}, fmt.Errorf("file %s: reading it was given up: %w", s.path, err)
	}
	s.env.Call(s.path, "read")
	text, err := os.ReadFile(s.path)
	if err != nil {
		return document{}, explain(s.path, "reading it", err)
	}
	d, err := parse(text)
	if err != nil {
		return document{}, fmt.Errorf("file %s is torn or garbled and was left as it is (%w); put a copy in its place, or move it away and run \"offsetctl store init\"", s.path, err)
	}
	return d, nil
}

// explain says in one sentence what the file system refused.
func explain(path, doing string, err error) error {
	kind, next := error(nil), ""
	switch {
	case errors.Is(err, os.ErrNotExist):
		kind, next = offset.ErrUnknownName, "; look at the path, or create it with: offsetctl store init --store 'file:"+strings.ReplaceAll(path, "'", `'\''`)+"'"
	case errors.Is(err, os.ErrPermission):
		kind, next = offset.ErrDenied, "; look at the rights of the file and its folder"
	case full(err):
		return fmt.Errorf("file %s: %s: the disk is full, nothing was written; make room: %w", path, doing, err)
	}
	if kind == nil {
		return fmt.Errorf("file %s: %s: %w", path, doing, err)
	}
	return fmt.Errorf("file %s %w: %s: %w%s", path, kind, doing, err, next)
}
