package cmd

import (
	"bytes"
	"errors"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// run runs one command with an environment of its own.
func run(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "HOME": t.TempDir()}
	sys := &IO{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Now: time.Now,
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	code = Run(t.Context(), sys, args)
	return code, stdout.String() + stderr.String()
}

// shows wants each pattern to match a line; one that begins with ! must match none.
func shows(t *testing.T, out string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		pattern, not := strings.CutPrefix(p, "!")
		if regexp.MustCompile("(?m)"+pattern).MatchString(out) == not {
			t.Errorf("%q in\n%s", p, out)
		}
	}
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// BR-49: one of several bootstrap servers that is down is worth a word and no failure; when all are, there is nothing to go on.
func TestBR49CheckBootstrapServers(t *testing.T) {
	f, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	works, down, other := f.ListenAddrs()[0], closedPort(t), closedPort(t)
	code, out := run(t, "check", "--broker", "kafka://"+down+","+works)
	shows(t, out, "^warn +tcp +.*"+down+".*the others are asked", "^ok +dns tcp +"+works, "^ok +login metadata", "^ok +advertised +broker 0 at "+works, "!FAIL")
	if code != exitOK {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out = run(t, "check", "--broker", "kafka://"+down+","+other, "--timeout", "10s")
	shows(t, out, "^FAIL +tcp +.*"+down, "^FAIL +tcp +.*"+other, "!warn +tcp", "!metadata")
	if code != exitUnreachable {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// A broker is asked at its advertised address as clients ask it: that its port is open is not enough.
func TestCheckAsksAdvertisedBrokers(t *testing.T) {
	f, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.EnableSASL(), kfake.User("PLAIN", "alice", "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.ControlKey(int16(kmsg.ApiVersions), func(kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		return nil, errors.New("hang up"), f.CurrentNode() == 2
	})
	code, out := run(t, "check", "--broker", "kafka://"+f.ListenAddrs()[0]+"?sasl=plain&user=alice&password=open", "--timeout", "10s")
	shows(t, out, "^ok +sasl +plain as alice$", "^ok +advertised +broker 0 at", "^ok +advertised +broker 1 at",
		"^FAIL +advertised +broker 2 advertises itself as "+f.ListenAddrs()[2]+".*what it leads is unknown", "!open")
	if code != exitUnreachable {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
