package repair

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gofrs/flock"
)

// Dir is a journal in a directory: a file an entry, a line of JSON for each thing that happened to it. The file's name is the id,
// and creating it exclusively is what makes ids safe between processes. Whoever writes an entry holds a lock on its file, so that
// others can tell a write under way from one whose process has died.
type Dir struct {
	path string

	mu   sync.Mutex
	open map[int64]*entryFile
}

type entryFile struct {
	*os.File
	lock *flock.Flock
}

var _ Log = (*Dir)(nil)

const entryExt = ".jsonl"

// OpenDir is the journal in the directory, which is created when it is first written to.
func OpenDir(path string) *Dir { return &Dir{path: path, open: map[int64]*entryFile{}} }

// Name is the directory.
func (d *Dir) Name() string { return d.path }

func (d *Dir) file(id int64) string {
	return filepath.Join(d.path, fmt.Sprintf("%06d%s", id, entryExt))
}

// Create makes the entry's file and syncs it and the directory. What cannot be made durable is taken away again.
func (d *Dir) Create(ctx context.Context, line []byte) (int64, error) {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return 0, err
	}
	ids, err := d.IDs(ctx)
	if err != nil {
		return 0, err
	}
	next := int64(1)
	if len(ids) > 0 {
		next = ids[0] + 1
	}
	for ; ; next++ {
		f, err := os.OpenFile(d.file(next), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue // another process was faster
		}
		if err != nil {
			return 0, err
		}
		e := &entryFile{File: f, lock: flock.New(d.file(next), flock.SetFlag(os.O_RDWR))}
		if err := d.begin(e, line); err != nil {
			return 0, errors.Join(err, e.lock.Close(), f.Close(), os.Remove(f.Name()))
		}
		d.mu.Lock()
		d.open[next] = e
		d.mu.Unlock()
		return next, nil
	}
}

func (d *Dir) begin(e *entryFile, line []byte) error {
	if err := e.lock.Lock(); err != nil {
		return err
	}
	if err := appendLine(e.File, line); err != nil {
		return err
	}
	return syncDir(d.path)
}

func appendLine(f *os.File, line []byte) error {
	if _, err := f.Write(append(slices.Clip(line), '\n')); err != nil {
		return err
	}
	return f.Sync()
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Append writes the line and syncs the file.
func (d *Dir) Append(_ context.Context, id int64, line []byte) error {
	d.mu.Lock()
	e := d.open[id]
	d.mu.Unlock()
	if e == nil {
		return fmt.Errorf("entry %d was not begun here", id)
	}
	return appendLine(e.File, line)
}

// Release closes the entry's file and gives up its lock.
func (d *Dir) Release(id int64) error {
	d.mu.Lock()
	e := d.open[id]
	delete(d.open, id)
	d.mu.Unlock()
	if e == nil {
		return nil
	}
	return errors.Join(e.File.Close(), e.lock.Close())
}

// Read answers the lines of one entry.
func (d *Dir) Read(_ context.Context, id int64) (lines [][]byte, busy, cut bool, err error) {
	f, err := os.Open(d.file(id))
	if err != nil {
		return nil, false, false, err
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, false, false, err
	}
	lines = bytes.Split(b, []byte{'\n'})
	last := lines[len(lines)-1] // what follows the last line end
	return lines[:len(lines)-1], d.busy(id), len(last) > 0, nil
}

func (d *Dir) busy(id int64) bool {
	l := flock.New(d.file(id), flock.SetFlag(os.O_RDONLY))
	free, err := l.TryRLock()
	_ = l.Close()
	return err == nil && !free
}

// IDs lists the entries, newest first.
func (d *Dir) IDs(context.Context) ([]int64, error) {
	files, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), entryExt)
		if id, err := strconv.ParseInt(name, 10, 64); ok && err == nil && id > 0 {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b int64) int { return cmp.Compare(b, a) })
	return out, nil
}

// Try makes a file and takes it away again.
func (d *Dir) Try(context.Context) error {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(d.path, "try-*")
	if err != nil {
		return err
	}
	return errors.Join(appendLine(f, []byte("{}")), f.Close(), os.Remove(f.Name()))
}
