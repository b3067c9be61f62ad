// Package roster remembers the brokers that were seen in clusters whose metadata leaves no trace of a broker that is gone.
//
// A cluster is known by the servers through which it was reached: one of them in common is enough. What cannot be read or
// written is no reason to fail a command, so callers may treat an error as "nothing is remembered".
package roster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Schema is the first field of a file.
const Schema = "offsetctl.brokers/v1"

// Dir is a folder with a file for each cluster. "" remembers nothing.
type Dir string

// cluster is one file.
type cluster struct {
	Schema  string               `json:"schema"`
	Servers []string             `json:"servers"` // sorted
	Brokers map[string]time.Time `json:"brokers"` // when each was last seen, by name

	path string
}

// Seen answers when each broker of the cluster behind the servers was last seen, by name.
func (d Dir) Seen(servers []string) (map[string]time.Time, error) {
	all, err := d.find(servers)
	out := map[string]time.Time{}
	for _, c := range all {
		for name, at := range c.Brokers {
			if at.After(out[name]) {
				out[name] = at
			}
		}
	}
	return out, err
}

// fresh is how old a time may be before it is written anew: who looks every second need not write every second.
const fresh = time.Minute

// See remembers that brokers were there.
func (d Dir) See(servers, brokers []string, now time.Time) error {
	if d == "" || len(servers) == 0 || len(brokers) == 0 {
		return nil
	}
	all, err := d.find(servers)
	if err != nil {
		return err
	}
	c := cluster{Brokers: map[string]time.Time{}, path: d.fileOf(servers)}
	if len(all) > 0 {
		c = all[0]
	}
	changed := false
	for _, s := range servers {
		if !slices.Contains(c.Servers, s) {
			c.Servers, changed = append(c.Servers, s), true
		}
	}
	for _, b := range brokers {
		if now.Sub(c.Brokers[b]) > fresh {
			c.Brokers[b], changed = now.UTC(), true
		}
	}
	if !changed {
		return nil
	}
	slices.Sort(c.Servers)
	return c.write()
}

// Forget takes a broker out and tells whether it was remembered.
func (d Dir) Forget(servers []string, broker string) (known bool, err error) {
	all, err := d.find(servers)
	if err != nil {
		return false, err
	}
	for _, c := range all {
		if _, there := c.Brokers[broker]; there {
			known = true
			delete(c.Brokers, broker)
			if err := c.write(); err != nil {
				return known, err
			}
		}
	}
	return known, nil
}

// find reads the files of the clusters that share a server with these.
func (d Dir) find(servers []string) (out []cluster, err error) {
	if d == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ext {
			continue
		}
		c, err := read(filepath.Join(string(d), e.Name()))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(c.Servers, func(s string) bool { return slices.Contains(servers, s) }) {
			out = append(out, c)
		}
	}
	return out, nil
}

const ext = ".json"

// fileOf is the file of a cluster that is new.
func (d Dir) fileOf(servers []string) string {
	h := sha256.Sum256([]byte(slices.Min(servers)))
	return filepath.Join(string(d), hex.EncodeToString(h[:8])+ext)
}

func read(path string) (c cluster, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil || c.Schema != Schema {
		return c, fmt.Errorf("%s is no list of brokers that were seen: delete it", path)
	}
	if c.Brokers == nil {
		c.Brokers = map[string]time.Time{}
	}
	c.path = path
	return c, nil
}

// write replaces the file as a whole; a crash leaves the old one.
func (c cluster) write() (err error) {
	c.Schema, c.Brokers = Schema, maps.Clone(c.Brokers)
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	t, err := os.CreateTemp(filepath.Dir(c.path), ".brokers-*") // 0600
	if err != nil {
		return err
	}
	_, err = t.Write(append(b, '\n'))
	if err = errors.Join(err, t.Close()); err == nil {
		err = os.Rename(t.Name(), c.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.Name()))
	}
	return nil
}
