package kafka

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
)

// jws is a token that nobody signed.
func jws(user string, until time.Time) string {
	enc := base64.RawURLEncoding.EncodeToString
	body := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, user, until.Add(-time.Hour).Unix(), until.Unix())
	return enc([]byte(`{"alg":"none"}`)) + "." + enc([]byte(body)) + "."
}

// Every way of logging in works, and each wrong one is said in one sentence, tried once.
func TestLoginsOnBroker(t *testing.T) {
	s := testservers.Need(t, "kafka44")
	krb := "sasl=kerberos&user=alice&krb5-conf=" + s.Files["krb5.conf"]
	tls := "ca=" + s.Files["ca"]
	for _, x := range []struct{ listener, options string }{
		{"tls", tls},
		{"mtls", tls + "&cert=" + s.Files["client-cert"] + "&key=" + s.Files["client-key"]},
		{"sasl", "sasl=plain&user=alice&password=alice-secret"},
		{"sasl", "sasl=scram-sha-256&user=alice&password=alice-secret"},
		{"sasltls", tls + "&sasl=scram-sha-512&user=alice&password=alice-secret"},
		{"sasl", "sasl=oauthbearer&token=" + jws("alice", time.Now().Add(time.Hour))},
		{"sasl", "sasl=oauthbearer&password=" + jws("alice", time.Now().Add(time.Hour))},
		{"sasl", krb + "&password=alice-secret"},
		{"sasl", krb + "&keytab=" + s.Files["alice.keytab"]},
	} {
		if err := tryOpen(t, "kafka://"+s.Addr[x.listener]+"?"+x.options, nil); err != nil {
			t.Errorf("%s %s: %v", x.listener, x.options, err)
		}
	}
	for _, x := range []struct {
		listener, options string
		kind              error
		texts             []string
	}{
		{"sasl", "sasl=plain&user=alice&password=sesame", offset.ErrDenied, []string{"sasl", "user and password"}},
		{"sasl", "sasl=scram-sha-256&user=alice&password=sesame", offset.ErrDenied, []string{"sasl", "user and password"}},
		{"sasl", "sasl=scram-sha-512&user=nobody&password=sesame", offset.ErrDenied, []string{"sasl", "user and password"}},
		{"sasl", "sasl=oauthbearer&token=" + jws("alice", time.Now().Add(-time.Hour)), offset.ErrDenied, []string{"sasl", "token still valid"}},
		{"sasl", krb + "&password=sesame", offset.ErrDenied, []string{"sasl", "Kerberos does not take"}},
		{"sasl", krb + "&password=alice-secret&service=nosuch", offset.ErrDenied, []string{"sasl", "option service"}},
		{"sasl", "", offset.ErrUnreachable, []string{"sasl", "set the option sasl"}},
		{"tls", "", offset.ErrUnreachable, []string{"tls", "set tls=on"}},
		{"plain", "tls=insecure", offset.ErrUnreachable, []string{"tls", "set tls=off"}},
		{"tls", "ca=" + s.Files["other-ca"], offset.ErrUnreachable, []string{"tls", "option ca"}},
		{"mtls", tls, offset.ErrUnreachable, []string{"tls", "options cert and key"}},
		{"plain", "sasl=plain&user=alice&password=sesame", offset.ErrUnreachable, []string{"sasl"}},
	} {
		var c calls
		addr := s.Addr[x.listener]
		says(t, tryOpen(t, "kafka://"+addr+"?"+x.options, &c), x.kind, append(x.texts, addr)...)
		tries := 0
		for _, n := range c.names {
			if n == "SASLHandshake" {
				tries++
			}
		}
		if tries > 1 {
			t.Errorf("%s: a login that is refused was tried %d times", x.options, tries)
		}
	}
	// Through the address of the host the ticket is for another service than the broker's.
	byNumber := strings.Replace(s.Addr["sasl"], "localhost", "127.0.0.1", 1)
	err := tryOpen(t, "kafka://"+byNumber+"?"+krb+"&password=alice-secret", nil)
	says(t, err, offset.ErrDenied, "sasl", "principal")
}

// sec is a group of two topics, of which alice and bob see what the test lets them.
type sec struct {
	hosts        []string
	addr         string
	adm          *kadm.Client
	group        string
	topic, other string
}

func secured(t *testing.T) sec {
	t.Helper()
	s := testservers.Need(t, "kafka44")
	x := sec{hosts: []string{s.Addr["plain"]}, addr: s.Addr["sasl"], group: unique("sec"), topic: unique("seen"), other: unique("hidden")}
	x.adm, _ = admin(t, x.hosts)
	create(t, x.adm, 2, x.topic, x.other)
	commit(t, x.adm, x.group, kadm.Offset{Topic: x.topic, Partition: 0, At: 1}, kadm.Offset{Topic: x.other, Partition: 0, At: 2})
	return x
}

// allow gives a user, who has no rights in the beginning, rights until the test's end.
func (x sec) allow(t *testing.T, user string, b *kadm.ACLBuilder) {
	t.Helper()
	b = b.Allow("User:" + user).AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral)
	rs, err := x.adm.CreateACLs(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	t.Cleanup(func() {
		if _, err := x.adm.DeleteACLs(context.Background(), b.DenyHosts()); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(300 * time.Millisecond) // brokers learn of it a little later
}

func (x sec) as(t *testing.T, user string) *Cluster {
	return dialTo(t, []string{x.addr}, "sasl=plain&user="+user+"&password="+url.QueryEscape(user+"-secret"), nil)
}

// Answers that ACLs shorten: what is named is answered one by one, what is listed is headed by a gap, nothing is absent that is hidden.
func TestACLsOnBroker(t *testing.T) {
	x := secured(t)
	t.Run("nothing", func(t *testing.T) {
		c := x.as(t, "bob")
		a := c.Offsets().Read(t.Context(), []offset.Query{{Group: x.group, Expect: []offset.Partition{partition(x.topic, 0)}}})[0]
		says(t, a.Err, offset.ErrDenied, x.group, "DESCRIBE")
		says(t, a.Expected[0].Err, offset.ErrDenied, x.group)
		says(t, c.Describe(t.Context(), []string{x.group})[0].Err, offset.ErrDenied, x.group)
		top, err := c.Topology(t.Context(), []string{x.topic})
		if err != nil {
			t.Fatal(err)
		}
		says(t, top.Topics[0].Err, offset.ErrDenied, x.topic, "does not exist")
		_, gaps, err := c.Groups(t.Context())
		if err != nil || len(gaps) == 0 {
			t.Errorf("a list of groups that is cut says nothing: %v, %v", gaps, err)
		}
		for _, p := range c.permissions(t, x, true) {
			if p.Granted || p.Err != nil {
				t.Errorf("%+v", p)
			}
		}
	})
	x.allow(t, "alice", kadm.NewACLs().Groups(x.group).Operations(kadm.OpDescribe))
	x.allow(t, "alice", kadm.NewACLs().Topics(x.topic).Operations(kadm.OpDescribe))
	both := []offset.Partition{partition(x.other, 0), partition(x.topic, 0), partition(x.topic, 1)}
	t.Run("reading one of two topics", func(t *testing.T) {
		c := x.as(t, "alice")
		if _, err := c.Topology(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		a := c.Offsets().Read(t.Context(), []offset.Query{{Group: x.group, Expect: both}})[0]
		if a.Err != nil || a.Expected[1].Value.Next != 1 || a.Expected[2].Value.State != offset.Absent {
			t.Fatalf("%+v", a)
		}
		says(t, a.Expected[0].Err, offset.ErrDenied, x.other)
		if len(a.Others) != 0 || len(a.Gaps) == 0 {
			t.Errorf("others %v, gaps %v", a.Others, a.Gaps)
		}
		logs := c.Logs(t.Context(), []offset.LogQuery{{Partition: both[0]}, {Partition: both[1]}})
		if logs[1].Err != nil {
			t.Error(logs[1].Err)
		}
		says(t, logs[0].Err, offset.ErrDenied, x.other)
		top, err := c.Topology(t.Context(), nil)
		if err != nil || top.Whole || len(top.Gaps) == 0 || len(top.Topics) != 1 {
			t.Errorf("%+v, %v", top, err)
		}
		says(t, c.Retention(t.Context(), []string{x.topic})[0].Err, offset.ErrDenied, x.topic, "DESCRIBE_CONFIGS")
		d := c.Describe(t.Context(), []string{x.group, x.group + "-none"})
		if d[0].Err != nil || d[0].Value.Phase != offset.Empty {
			t.Errorf("%+v", d[0])
		}
		says(t, d[1].Err, offset.ErrDenied, x.group+"-none")
	})
	t.Run("writing without the right", func(t *testing.T) {
		c := x.as(t, "alice")
		from := readOne(t, c, x.group, both[1])
		ch := []offset.Change{{Partition: both[1], From: from[0].Value, To: offset.Stored{State: offset.Set, Next: 9}}}
		says(t, c.Offsets().Write(t.Context(), x.group, ch)[0].Err, offset.ErrDenied, x.group, "READ")
		x.allow(t, "alice", kadm.NewACLs().Groups(x.group).Operations(kadm.OpRead))
		says(t, c.Offsets().Write(t.Context(), x.group, ch)[0].Err, offset.ErrDenied, x.topic, "READ")
		x.allow(t, "alice", kadm.NewACLs().Topics(x.topic).Operations(kadm.OpRead))
		now := c.Offsets().Write(t.Context(), x.group, ch)[0]
		if now.Err != nil || now.Value.Next != 9 {
			t.Errorf("%+v", now)
		}
		ch[0].From, ch[0].To = now.Value, offset.Stored{State: offset.Absent}
		says(t, c.Offsets().Write(t.Context(), x.group, ch)[0].Err, offset.ErrDenied, x.group, "DELETE")
		for _, p := range c.permissions(t, x, true) {
			want := !strings.Contains(p.Right, "DELETE") && !strings.Contains(p.Right, "DESCRIBE_CONFIGS")
			if p.Granted != want || p.Err != nil {
				t.Errorf("%+v, it should be granted: %v", p, want)
			}
		}
	})
	t.Run("everything", func(t *testing.T) {
		c := x.as(t, "admin")
		top, err := c.Topology(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("whole %v, gaps %v", top.Whole, top.Gaps)
		_, gaps, err := c.Groups(t.Context())
		if err != nil || len(gaps) != 0 {
			t.Errorf("a super user's list of groups: %v, %v", gaps, err)
		}
		for _, p := range c.permissions(t, x, true) {
			if !p.Granted || p.Err != nil {
				t.Errorf("%+v", p)
			}
		}
	})
}

func (c *Cluster) permissions(t *testing.T, x sec, write bool) []offset.Permission {
	t.Helper()
	p, ok := c.Offsets().(offset.Permitter)
	if !ok {
		t.Fatal("it tells no permissions")
	}
	return p.Permissions(t.Context(), x.group, []string{x.topic}, write)
}

// A cluster without an authorizer hides nothing, and that is proven.
func TestWholeWithoutAuthorizer(t *testing.T) {
	c := dialTo(t, strings.Split(testservers.Need(t, "kafka39").Addr["plain"], ","), "", nil)
	top, err := c.Topology(t.Context(), nil)
	if err != nil || !top.Whole || len(top.Gaps) != 0 || !strings.HasPrefix(top.Product, "Kafka 3.9") {
		t.Errorf("%+v, %v", top, err)
	}
	if _, gaps, err := c.Groups(t.Context()); err != nil || len(gaps) != 0 {
		t.Error(gaps, err)
	}
}
