package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/offsetctl/offsetctl/offset"
)

// lockSuffix makes the lock file's name.
const lockSuffix = ".lock"

// Permissions opens what a command would open, and lets the system decide: modes alone do not tell of other owners, access lists
// and read-only disks. What it makes in the folder it takes away at once.
func (s *Store) Permissions(_ context.Context, _ string, _ []string, write bool) []offset.Permission {
	out := []offset.Permission{permission("file "+s.path+": read", s.mayRead(s.path, os.O_RDONLY))}
	if !write {
		return out
	}
	lock := s.path + lockSuffix
	if _, err := os.Lstat(lock); !errors.Is(err, os.ErrNotExist) {
		out = append(out, permission("lock file "+lock+": open", s.mayRead(lock, os.O_CREATE|os.O_RDONLY)))
	}
	dir := filepath.Dir(s.path)
	return append(out, permission(fmt.Sprintf("folder %s: make a file and put it in the place of %s", dir, filepath.Base(s.path)), s.mayReplace(dir)))
}

// permission is what the system's answer says about a right.
func permission(right string, err error) offset.Permission {
	switch {
	case err == nil:
		return offset.Permission{Right: right, Granted: true}
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		if at := (*os.PathError)(nil); errors.As(err, &at) {
			err = at.Err // the right names the path
		}
		return offset.Permission{Right: fmt.Sprintf("%s (%v)", right, err)}
	}
	return offset.Permission{Right: right, Err: err}
}

func (s *Store) mayRead(path string, flag int) error {
	s.env.Call(path, "open")
	f, err := os.OpenFile(path, flag, 0o666)
	if err != nil {
		return err
	}
	return f.Close()
}

// mayReplace makes a file as a write does. The last step of a write, which cannot be tried, is refused where a folder keeps its
// files for their owners.
func (s *Store) mayReplace(dir string) error {
	s.env.Call(dir, "create")
	f, err := os.CreateTemp(dir, "."+filepath.Base(s.path)+".*")
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return err
	}
	folder, err := os.Stat(dir)
	if err != nil {
		return err
	}
	file, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	if folder.Mode()&os.ModeSticky != 0 && !owned(file) && !owned(folder) {
		return fmt.Errorf("it keeps %s for its owner: %w", s.path, os.ErrPermission)
	}
	return nil
}
