package file

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/offset"
)

// granted shows permissions as "right yes", "right no" or "right error", their rights cut at the colon's end.
func granted(ps []offset.Permission) string {
	var out []string
	for _, p := range ps {
		what, _, _ := strings.Cut(p.Right, " ")
		switch {
		case p.Err != nil:
			what += " error"
		case p.Granted:
			what += " yes"
		default:
			what += " no"
		}
		out = append(out, what)
	}
	return strings.Join(out, ", ")
}

// asBound runs the calling test once more with no more rights over files than their modes give, also where the tests are root's;
// in that run it answers true.
func asBound(t *testing.T) bool {
	const marker = "OFFSETCTL_BOUND"
	if os.Geteuid() != 0 || os.Getenv(marker) != "" {
		return true
	}
	c := exec.Command("setpriv", "--bounding-set", "-dac_override,-dac_read_search", os.Args[0], "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), marker+"=1")
	if out, err := c.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "PASS") {
		t.Fatalf("%v: %s", err, out)
	}
	return false
}

func TestPermissions(t *testing.T) {
	if !asBound(t) {
		return
	}
	path, whole := sample(t)
	dir := filepath.Dir(path)
	s := open(t, quiet(), path)
	set := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	says := func(what string, write bool, want string, text ...string) {
		t.Helper()
		ps := s.Permissions(context.Background(), "", nil, write)
		if got := granted(ps); got != want {
			t.Errorf("%s: %s; it should be: %s", what, got, want)
		}
		for _, x := range text {
			if last := ps[len(ps)-1].Right; !strings.Contains(last, x) {
				t.Errorf("%s: %q does not say %q", what, last, x)
			}
		}
	}
	says("all is open", false, "file yes")
	says("all is open", true, "file yes, lock yes, folder yes", dir, "o.json")
	set(path+".lock", 0)
	says("somebody else's lock", true, "file yes, lock no, folder yes")
	set(path+".lock", 0o600)
	set(dir, 0o500)
	says("a folder to be read", true, "file yes, lock yes, folder no", "permission denied")
	set(dir, 0o700)
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	says("a lock that is still to be made", true, "file yes, folder yes")
	set(path, 0o200)
	says("a file that may not be read", false, "file no", "permission denied")
	set(path, 0o600)

	if now, err := os.ReadFile(path); err != nil || string(now) != string(whole) {
		t.Errorf("the file is %q by now, %v", now, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("beside the file lie %v, %v", entries, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	says("a file that is gone", true, "file error, folder error")
}
