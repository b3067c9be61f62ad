//go:build linux

package machine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/testservers/wire"
)

func instance(t *testing.T) *Instance {
	t.Helper()
	i, err := NewInstance(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Discard(); err != nil {
			t.Error(err)
		}
	})
	return i
}

func TestReadyLineIsOfThisStart(t *testing.T) {
	i := instance(t)
	// The second start says nothing, so that its readiness must not be read out of the first one's line.
	script := `if [ -e started ]; then echo silent; sleep 600; fi; touch started; echo ready; sleep 600`
	node := Node{Name: "n", Command: []string{"sh", "-c", script}, ReadyLine: "ready", Patience: 300 * time.Millisecond}
	if err := i.Run(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if err := i.Do(t.Context(), wire.Kill, "n"); err != nil {
		t.Fatal(err)
	}
	err := i.Do(t.Context(), wire.Start, "n")
	if err == nil || !strings.Contains(err.Error(), "not ready after") {
		t.Errorf("the second start: %v, want that it is not ready", err)
	}
	if got, _ := i.Log("n"); !strings.Contains(got, "ready\nsilent") {
		t.Errorf("the log holds %q, want both starts", got)
	}
}

func TestStartIsTriedAgain(t *testing.T) {
	i := instance(t)
	node := Node{Name: "n", Command: []string{"sh", "-c", `echo try >>tries; [ $(wc -l <tries) -ge 2 ] && echo ready && sleep 600`}, ReadyLine: "ready"}
	if err := i.Run(t.Context(), node); !errors.Is(err, errEnded) {
		t.Errorf("without restarts: %v, want that it ended", err)
	}
	_ = os.Remove(i.Path("tries"))
	node.Name, node.Restarts = "again", 1
	if err := i.Run(t.Context(), node); err != nil {
		t.Errorf("with one restart: %v", err)
	}
	if got := strings.Join(i.Nodes(), " "); got != "n again" || i.Ended() != "n" {
		t.Errorf("nodes are %q and %q has ended", got, i.Ended())
	}
}

// TestKillReachesDescendants has a child in a session of its own hold a port,
// as PostgreSQL's do.
func TestKillReachesDescendants(t *testing.T) {
	i := instance(t)
	node := Node{Name: "n", Command: []string{"sh", "-c", `setsid sleep 600 & echo $! >child; echo ready; wait`}, ReadyLine: "ready"}
	if err := i.Run(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if err := i.Do(t.Context(), wire.Kill, ""); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(i.Path("child"))
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); alive(strings.TrimSpace(string(text))); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the child lives on")
		}
	}
}

// alive says whether a process is there and no zombie.
func alive(pid string) bool {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	return err == nil && !strings.Contains(string(status), "State:\tZ")
}

func TestPauseFreezes(t *testing.T) {
	i := instance(t)
	if err := i.Run(t.Context(), Node{Name: "n", Command: []string{"sleep", "600"}}); err != nil {
		t.Fatal(err)
	}
	state := func() string {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(i.nodes[0].cmd.Process.Pid) + "/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "State:\t")
		return rest[:1]
	}
	if err := i.Do(t.Context(), wire.Pause, "n"); err != nil {
		t.Fatal(err)
	}
	if got := state(); got != "T" {
		t.Error("paused, and in state", got)
	}
	if err := i.Do(t.Context(), wire.Resume, "n"); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); state() != "S"; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("resumed, and in state", state())
		}
	}
}

func TestPortsAreDistinctAndFree(t *testing.T) {
	seen := map[int]bool{}
	for range 20 {
		first, err := Block(3)
		if err != nil {
			t.Fatal(err)
		}
		for port := first; port < first+3; port++ {
			if seen[port] {
				t.Errorf("port %d was given out twice", port)
			}
			seen[port] = true
			l, err := net.Listen("tcp", Local(port))
			if err != nil {
				t.Errorf("port %d: %v", port, err)
				continue
			}
			_ = l.Close()
		}
	}
}

func TestCertificatesVerify(t *testing.T) {
	i := instance(t)
	if err := i.Certificates(); err != nil {
		t.Fatal(err)
	}
	for _, authority := range []string{"ca", "other-ca"} {
		text, err := os.ReadFile(i.Files[authority])
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(text)
		for _, name := range []string{"server", "client"} {
			pair, err := tls.LoadX509KeyPair(i.Files[name+"-cert"], i.Files[name+"-key"])
			if err != nil {
				t.Fatal(err)
			}
			_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "127.0.0.1", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
			if good := authority == "ca"; good != (err == nil) {
				t.Errorf("%s by %s: %v", name, authority, err)
			}
		}
	}
}

func TestTailBeginsAtALine(t *testing.T) {
	file := t.TempDir() + "/log"
	if err := os.WriteFile(file, []byte("first line\nsecond line\nthird line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]string{1000: "first line\nsecond line\nthird line\n", 25: "second line\nthird line\n", 12: "third line\n"} {
		if got := tail(file, limit); got != want {
			t.Errorf("the last %d bytes: %q, want %q", limit, got, want)
		}
	}
}

func TestAwaitGivesTheLastReason(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	reason := errors.New("no quorum")
	if err := Await(ctx, func(context.Context) error { return reason }); !errors.Is(err, reason) {
		t.Errorf("%v, want the reason why it was not ready", err)
	}
}
