package kafka

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
)

// fromFiles looks up file: references alone.
var fromFiles = address.Secrets{File: func(p string) (string, error) { b, err := os.ReadFile(p); return string(b), err }}

func parseWithFiles(t *testing.T, s string) address.Address {
	t.Helper()
	a, err := address.Parse(s, []address.Form{Form})
	if err == nil {
		a, err = a.Reveal(fromFiles)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Each login takes the secret that is in its file by then; logins of one moment share a look.
func TestCredentialsAreRenewed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	for _, options := range []string{"sasl=plain&user=alice&password=", "sasl=oauthbearer&token=", "sasl=oauthbearer&password="} {
		writeFile(t, file, "first")
		now := time.Now()
		m, err := login(parseWithFiles(t, "kafka://h?"+options+"file:"+file), func() time.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		sends := func(want string) {
			t.Helper()
			if _, first, err := m.Authenticate(t.Context(), "h:9092"); err != nil || !strings.Contains(string(first), want) {
				t.Errorf("%s: %q, %v; want %s", options, first, err, want)
			}
		}
		writeFile(t, file, "second")
		sends("first")
		now = now.Add(keptFor)
		sends("second")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		sends("second")
		now = now.Add(keptFor)
		if _, _, err := m.Authenticate(t.Context(), "h:9092"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", options, err)
		}
	}
}

// A session lives as long as its token; who looks again and again goes on with the token that is in the file by then.
func TestTokenIsRenewedOnBroker(t *testing.T) {
	s := testservers.Need(t, "kafka44")
	const life = 8 * time.Second
	file := filepath.Join(t.TempDir(), "token")
	write := func(life time.Duration) { writeFile(t, file, jws("admin", time.Now().Add(life))) }
	write(life)
	b, err := Open(t.Context(), testEnv(nil), parseWithFiles(t, "kafka://"+s.Addr["sasl"]+"?sasl=oauthbearer&token=file:"+file))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for end := time.Now().Add(2 * life); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		write(life)
		if _, _, err := b.Groups(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	write(-time.Minute)
	for end := time.Now().Add(3 * life); err == nil && time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		_, _, err = b.Groups(t.Context())
	}
	says(t, err, offset.ErrDenied, "sasl", "token still valid")
}

// Where the token cannot be replaced, what is said is that it ran out, and not that no login is wanted.
func TestTokenRunsOutOnBroker(t *testing.T) {
	s := testservers.Need(t, "kafka44")
	b, err := Open(t.Context(), testEnv(nil), parse(t, "kafka://"+s.Addr["sasl"]+"?sasl=oauthbearer&token="+jws("admin", time.Now().Add(5*time.Second))))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for end := time.Now().Add(time.Minute); err == nil && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		_, _, err = b.Groups(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "token") || strings.Contains(err.Error(), "leave the option") {
		t.Error(err)
	}
}
