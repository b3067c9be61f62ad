//go:build unix

package file

import (
	"errors"
	"os"
	"syscall"
)

// sameOwner gives f to the owner of another file, where this user may.
func sameOwner(f *os.File, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}

// owned tells whether this user may do with a file what its owner may.
func owned(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || os.Geteuid() == 0 || int(st.Uid) == os.Geteuid()
}

// full tells an error of a disk without room.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
