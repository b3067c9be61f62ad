package artifacts

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Zip is a Maven artifact that is an archive of programs.
type Zip struct {
	Name     string   // the folder in the cache, with the version in it
	Artifact string   // group:artifact:version:zip:classifier
	Keep     []string // what is unpacked: files, and folders by a last slash
}

// String returns the archive's name.
func (z Zip) String() string { return "archive " + z.Name }

// Dir is the folder with the unpacked files.
func (z Zip) Dir() string { return folder(z.Name, z.content()) }

// Have says whether the archive was fetched and unpacked.
func (z Zip) Have() bool { return isFolder(z.Dir()) }

func (z Zip) content() string { return z.Artifact + "\n" + strings.Join(z.Keep, "\n") + "\n" }

func (z Zip) fetch(ctx context.Context, out io.Writer) error {
	return fill(z.Dir(), func(tmp string) error {
		download := filepath.Join(tmp, "download")
		if err := maven(ctx, out, "dependency:copy", "-Dartifact="+z.Artifact, "-DoutputDirectory="+download); err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(download, "*.zip"))
		if err != nil {
			return err
		}
		if len(files) != 1 {
			return fmt.Errorf("one archive was expected in %s: %v", download, files)
		}
		if err := z.unpack(files[0], tmp); err != nil {
			return err
		}
		return os.RemoveAll(download)
	})
}

func (z Zip) unpack(file, dir string) error {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer archive.Close()
	root, err := os.OpenRoot(dir) // a name in an archive must not lead out of the folder
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range archive.File {
		if f.FileInfo().IsDir() || !z.keeps(f.Name) {
			continue
		}
		if err := unpackFile(root, f); err != nil {
			return fmt.Errorf("unpacking %s: %w", f.Name, err)
		}
	}
	return nil
}

func (z Zip) keeps(name string) bool {
	for _, keep := range z.Keep {
		if name == keep || strings.HasSuffix(keep, "/") && strings.HasPrefix(name, keep) {
			return true
		}
	}
	return false
}

// unpackFile writes one file, executable: archives of programs often lack the
// permission bits.
func unpackFile(root *os.Root, f *zip.File) error {
	if err := root.MkdirAll(filepath.Dir(f.Name), 0o755); err != nil {
		return err
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	if f.Mode()&os.ModeSymlink != 0 {
		target, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		return root.Symlink(string(target), f.Name)
	}
	to, err := root.OpenFile(f.Name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, in)
	return errors.Join(err, to.Close())
}
