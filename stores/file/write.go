package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/gofrs/flock"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

// lockPause is how long a writer waits before it asks for the lock again.
const lockPause = 5 * time.Millisecond

// Write makes all changes, or none.
func (s *Store) Write(ctx context.Context, group string, changes []offset.Change) []offset.Result[offset.Stored] {
	out := make([]offset.Result[offset.Stored], len(changes))
	if len(changes) == 0 {
		return out
	}
	for i, c := range changes {
		out[i].Err = possible(c)
	}
	if offset.Untouched(out) {
		return out
	}
	if err := s.change(ctx, group, changes, out, func(document) error { return nil }); err != nil {
		for i := range out {
			out[i] = offset.Result[offset.Stored]{Err: err}
		}
	}
	return out
}

// change makes the changes that no result of out speaks against, if all are as they were read and first finds nothing.
func (s *Store) change(ctx context.Context, group string, changes []offset.Change, out []offset.Result[offset.Stored], first func(document) error) error {
	return s.locked(ctx, func() error {
		d, err := s.load(ctx)
		if err != nil {
			return err
		}
		if err := first(d); err != nil {
			return err
		}
		if d.compare(group, changes, out); offset.Untouched(out) {
			return nil
		}
		d.Generation++
		now := s.env.Now().UTC().Truncate(time.Millisecond)
		for i, c := range changes {
			out[i].Value = d.put(group, c, now)
		}
		return s.replace(ctx, d)
	})
}

// possible says why a change can never be made, or nil.
func possible(c offset.Change) error {
	switch to := c.To; {
	case c.Partition.Topic == "" || c.Partition.Index < 0:
		return fmt.Errorf("%s %w: it names no partition", c.Partition, offset.ErrUnsupported)
	case to.State == offset.Unknown:
		return fmt.Errorf("%s: neither a position nor its absence: never written", c.Partition)
	case to.State == offset.Set && to.Next < 0:
		return fmt.Errorf("%s: %d is no position: never written", c.Partition, to.Next)
	case to.State == offset.Invalid && !json.Valid(to.Raw):
		return fmt.Errorf("%s %w: the bytes %q are no JSON", c.Partition, offset.ErrUnsupported, to.Raw)
	}
	return nil
}

// compare puts what is there into out, with an error where it is not what was read.
func (d document) compare(group string, changes []offset.Change, out []offset.Result[offset.Stored]) {
	for i, c := range changes {
		out[i].Value = offset.Stored{State: offset.Absent, Version: absent}
		if at, found := d.find(group, c.Partition); found {
			out[i].Value = d.Offsets[at].stored()
		}
		if out[i].Value.Version != c.From.Version {
			out[i].Err = offset.ErrMoved
		}
	}
}

// put makes one change and answers what is there then.
func (d *document) put(group string, c offset.Change, now time.Time) offset.Stored {
	at, found := d.find(group, c.Partition)
	if c.To.State == offset.Absent {
		if found {
			d.Offsets = slices.Delete(d.Offsets, at, at+1)
		}
		return offset.Stored{State: offset.Absent, Version: absent}
	}
	e := entry{
		Group: name(group), Topic: name(c.Partition.Topic), Broker: name(c.Partition.Broker), Partition: c.Partition.Index,
		Next: strconv.AppendInt(nil, c.To.Next, 10), Epoch: c.To.LeaderEpoch, TopicID: name(c.To.TopicID), Metadata: name(c.To.Metadata), Owner: name(c.To.Owner),
		Written: d.Generation, Committed: now,
	}
	if c.To.State == offset.Invalid {
		e.Next = c.To.Raw
	}
	if found {
		d.Offsets[at] = e
	} else {
		d.Offsets = slices.Insert(d.Offsets, at, e)
	}
	return e.stored()
}

// locked runs f while no other writer is in the file.
func (s *Store) locked(ctx context.Context, f func() error) error {
	s.env.Call(s.path, "lock")
	l := flock.New(s.path+lockSuffix, flock.SetPermissions(0o666))
	ok, err := l.TryLockContext(ctx, lockPause)
	if err != nil || !ok {
		if ctx.Err() != nil {
			return fmt.Errorf("file %s: another writer holds %s; nothing was written: %w", s.path, s.path+lockSuffix, ctx.Err())
		}
		return explain(s.path, "taking its lock", err)
	}
	defer func() {
		if err := l.Unlock(); err != nil { // it ends with the process
			s.env.Log.Debug("unlocking", "file", s.path, "error", err)
		}
	}()
	return f()
}

// replace puts a finished file in the place of the old one: whoever looks sees one or the other, also after the power failed.
func (s *Store) replace(ctx context.Context, d document) (err error) {
	text, err := d.print()
	if err != nil {
		return err
	}
	s.env.Call(s.path, "write")
	dir := filepath.Dir(s.path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(s.path)+".*")
	if err != nil {
		return explain(s.path, "writing beside it", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err == nil {
		err = likeOld(f, s.path)
	}
	if err == nil {
		err = s.sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return explain(s.path, "writing beside it", err)
	}
	s.env.Call(s.path, "rename")
	if err := ctx.Err(); err != nil { // the last moment at which to give up
		return fmt.Errorf("file %s: the write was given up, nothing was written: %w", s.path, err)
	}
	if err := os.Rename(f.Name(), s.path); err != nil {
		return explain(s.path, "putting the new one in its place", err)
	}
	if err := s.syncDir(dir); err != nil {
		return fmt.Errorf("file %s %w: it is there, and would not survive a power failure: %w", s.path, offset.ErrOutcome, err)
	}
	return nil
}

// likeOld gives a new file the old one's mode and owner: the job that reads it must still be able to.
func likeOld(f *os.File, old string) error {
	info, err := os.Stat(old)
	if errors.Is(err, os.ErrNotExist) {
		return f.Chmod(0o644)
	}
	if err != nil {
		return err
	}
	if err := f.Chmod(info.Mode().Perm()); err != nil {
		return err
	}
	return sameOwner(f, info)
}

func (s *Store) syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(s.sync(d), d.Close())
}

// Init creates an empty file.
func Init(ctx context.Context, env offset.Env, a address.Address) (said string, err error) {
	s := &Store{env, a.Path, (*os.File).Sync}
	err = s.locked(ctx, func() error {
		if _, err := os.Stat(s.path); err == nil {
			if _, err := s.load(ctx); err != nil {
				return err
			}
			said = fmt.Sprintf("File %s is there already.", s.path)
			return nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return explain(s.path, "looking for it", err)
		}
		said = fmt.Sprintf("File %s was created.", s.path)
		// A file that is made anew does not repeat the generations of the one before.
		return s.replace(ctx, document{Schema: schema, Generation: env.Now().UnixMilli(), Offsets: []entry{}})
	})
	if err != nil {
		return "", err
	}
	return said, nil
}
