// Package artifacts gets what the test servers are made of: Debian packages
// and sets of jars. Everything is fetched once, while there is a network, and
// kept in the user's cache folder.
package artifacts

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Item is something that a server needs.
type Item interface {
	String() string
	Have() bool
}

// CacheDir is where fetched files are kept.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "offsetctl-testservers"), nil
}

// fetching lets one fetch at a time run: they share the package manager's lock
// and Maven's repository.
var fetching sync.Mutex

// Fetch gets the items that are not there yet. Progress goes to out.
func Fetch(ctx context.Context, out io.Writer, items []Item) error {
	fetching.Lock()
	defer fetching.Unlock()
	var packages []Package
	var jars []fetcher
	for _, item := range items {
		if item.Have() {
			continue
		}
		switch item := item.(type) {
		case Package:
			packages = append(packages, item)
		case fetcher:
			jars = append(jars, item)
		}
	}
	if len(packages) > 0 {
		if err := retry(ctx, out, func() error { return install(ctx, out, packages) }); err != nil {
			return err
		}
	}
	for _, set := range jars {
		if set.Have() { // the same set may be asked for twice
			continue
		}
		fmt.Fprintf(out, "fetching %s\n", set)
		if err := retry(ctx, out, func() error { return set.fetch(ctx, out) }); err != nil {
			return fmt.Errorf("fetching %s: %w", set, err)
		}
	}
	return nil
}

type fetcher interface {
	Item
	fetch(ctx context.Context, out io.Writer) error
}

// retry gives a fetch three tries: registries have passing faults.
func retry(ctx context.Context, out io.Writer, do func() error) error {
	const tries = 3
	for try := 1; ; try++ {
		err := do()
		if err == nil || try == tries || ctx.Err() != nil {
			return err
		}
		fmt.Fprintf(out, "try %d of %d failed: %v\n", try, tries, err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(try) * 5 * time.Second):
		}
	}
}

// Missing lists what is not there.
func Missing(items []Item) []Item {
	var missing []Item
	for _, item := range items {
		if !item.Have() {
			missing = append(missing, item)
		}
	}
	return missing
}
