// Package e2e runs the built program against real servers, as an operator does, and reads what it says.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/internal/bintest"
)

func TestMain(m *testing.M) { os.Exit(bintest.Main(m.Run)) }

// operator is somebody at a terminal with a home folder of his own, so a journal of his own.
type operator struct {
	t   testing.TB
	env []string
	dir string
}

func newOperator(t testing.TB, env ...string) *operator {
	dir := t.TempDir()
	return &operator{t: t, dir: dir, env: append(append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "TZ=UTC", "NO_COLOR=1",
		"OFFSETCTL_CONTEXT=", "OFFSETCTL_BROKER=", "OFFSETCTL_STORE=", "CI="), env...)}
}

// said is what one command printed, and how it ended.
type said struct {
	t        testing.TB
	line     string
	out, err string
	code     int
}

// patience bounds one command.
const patience = 2 * time.Minute

func (o *operator) run(args ...string) *said {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, "offsetctl", args...)
	var out, errs bytes.Buffer
	c.Env, c.Dir, c.Stdout, c.Stderr = o.env, o.dir, &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		o.t.Fatalf("offsetctl %s: %v", strings.Join(args, " "), err)
	}
	return &said{o.t, "offsetctl " + strings.Join(args, " "), out.String(), errs.String(), c.ProcessState.ExitCode()}
}

// exits runs a command that must end with this code.
func (o *operator) exits(code int, args ...string) *said {
	o.t.Helper()
	s := o.run(args...)
	if s.code != code {
		o.t.Fatalf("exit code %d, want %d: %s", s.code, code, s)
	}
	return s
}

// says wants each pattern to match a line of what was printed on either stream; a pattern that begins with ! must match none.
func (s *said) says(patterns ...string) *said {
	s.t.Helper()
	for _, p := range patterns {
		pat, not := strings.CutPrefix(p, "!")
		if found := regexp.MustCompile("(?m)" + pat).MatchString(s.out + s.err); found == not {
			s.t.Errorf("%q: found %v in %s", p, found, s)
		}
	}
	return s
}

func (s *said) String() string {
	return fmt.Sprintf("$ %s\n%s%s(exit %d)", s.line, s.out, s.err, s.code)
}

// row is one partition of inspect -o json.
type row struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Stored    struct {
		State string `json:"state"`
		Next  int64  `json:"next"`
	} `json:"stored"`
	Verdict  string `json:"verdict"`
	Lag      *int64 `json:"lag"`
	Findings []struct {
		Verdict string `json:"verdict"`
		Text    string `json:"text"`
		Proof   bool   `json:"proof"`
		Repairs []struct {
			Args []string `json:"args"`
		} `json:"repairs"`
	} `json:"findings"`
}

// inspect answers the partitions of one group as JSON has them.
func (o *operator) inspect(group string, args ...string) map[string]row {
	o.t.Helper()
	s := o.run(append([]string{"inspect", "-g", group, "-o", "json"}, args...)...)
	var doc struct {
		Groups []struct {
			Partitions []row `json:"partitions"`
		} `json:"groups"`
	}
	if err := json.Unmarshal([]byte(s.out), &doc); err != nil || len(doc.Groups) != 1 {
		o.t.Fatalf("%v: %s", err, s)
	}
	out := map[string]row{}
	for _, r := range doc.Groups[0].Partitions {
		out[fmt.Sprintf("%s:%d", r.Topic, r.Partition)] = r
	}
	return out
}

// verdict wants a partition's verdict and stored position; stored -1: none.
func (o *operator) verdict(rows map[string]row, partition, verdict string, stored int64) {
	o.t.Helper()
	r, ok := rows[partition]
	if !ok {
		o.t.Fatalf("%s is not in the report: %v", partition, rows)
	}
	got := int64(-1)
	if r.Stored.State == "set" {
		got = r.Stored.Next
	}
	if r.Verdict != verdict || got != stored {
		o.t.Errorf("%s: %s at %d, want %s at %d (%+v)", partition, r.Verdict, got, verdict, stored, r.Findings)
	}
}

// file writes a file into the operator's folder.
func (o *operator) file(name, text string) string {
	o.t.Helper()
	p := filepath.Join(o.dir, name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
	return p
}
