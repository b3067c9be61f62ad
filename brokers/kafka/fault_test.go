package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// says holds that an error is of its kind, that it says all of these, and that no password is in it.
func says(t *testing.T, err, kind error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	if !errors.Is(err, kind) {
		t.Errorf("%v\nis not of the kind %q", err, kind)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v\ndoes not say %q", err, text)
		}
	}
	if strings.Contains(err.Error(), "sesame") || strings.ContainsRune(err.Error(), '\n') {
		t.Errorf("%q shows a password, or is more than one line", err)
	}
	if testing.Verbose() {
		t.Log(err)
	}
}

func tryOpen(t *testing.T, address string, c *calls) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b, err := Open(ctx, testEnv(c), parse(t, address))
	if err == nil {
		_ = b.Close()
	}
	return err
}

// mute is a listener that takes connections and never says a word.
func mute(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
		}
	}()
	return l.Addr().String()
}

func TestBR49NothingThere(t *testing.T) {
	closed := closedPort(t)
	says(t, tryOpen(t, "kafka://"+closed, nil), offset.ErrUnreachable, closed, "connect", "refused", "is a broker listening")
	says(t, tryOpen(t, "kafka://no-such-host.invalid:9092", nil), offset.ErrUnreachable, "no-such-host.invalid:9092", "dns")
	other := closedPort(t)
	says(t, tryOpen(t, "kafka://"+closed+","+other, nil), offset.ErrUnreachable, "no bootstrap server answers", closed, other)
}

func TestBR49Silence(t *testing.T) {
	addr := mute(t)
	for options, stage := range map[string]string{"": "metadata", "?tls=insecure": "tls"} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err := Open(ctx, testEnv(nil), parse(t, "kafka://"+addr+options))
		cancel()
		says(t, err, offset.ErrUnreachable, addr, stage, "no answer")
	}
}

func TestBR49TLS(t *testing.T) {
	f := fake(t, kfake.TLS(serverTLS(t)))
	hosts := f.ListenAddrs()[:1]
	says(t, tryOpen(t, addressOf(hosts, ""), nil), offset.ErrUnreachable, hosts[0], "tls", "tls=on")
	says(t, tryOpen(t, addressOf(hosts, "tls=on"), nil), offset.ErrUnreachable, hosts[0], "tls", "option ca")
	if err := tryOpen(t, addressOf(hosts, "tls=insecure"), nil); err != nil {
		t.Error(err)
	}
	// The in-process broker waits for more of what it takes for a long request; a real one closes the connection.
	plain := fake(t).ListenAddrs()[:1]
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, testEnv(nil), parse(t, addressOf(plain, "tls=insecure")))
	says(t, err, offset.ErrUnreachable, plain[0], "tls", "tls=off")
}

func serverTLS(t *testing.T) *tls.Config {
	t.Helper()
	return &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}}
}

func TestBR49Login(t *testing.T) {
	f := fake(t, kfake.NumBrokers(3), kfake.EnableSASL(), kfake.User("PLAIN", "alice", "open"), kfake.User("SCRAM-SHA-512", "alice", "open"))
	hosts := f.ListenAddrs()
	says(t, tryOpen(t, addressOf(hosts[:1], ""), nil), offset.ErrUnreachable, hosts[0], "sasl", "option sasl")
	for _, kind := range []string{"plain", "scram-sha-512"} {
		var c calls
		// The in-process broker closes the connection where a real one says why; the client itself then tries a second time.
		says(t, tryOpen(t, addressOf(hosts, "user=alice&password=sesame&sasl="+kind), &c), offset.ErrUnreachable, "sasl", "user and password", kind)
		tries := 0
		for _, n := range c.names {
			if n == kmsg.NameForKey(keySASLHandshake) {
				tries++
			}
		}
		if tries > 2 {
			t.Errorf("%s: a wrong password was tried %d times", kind, tries)
		}
		if err := tryOpen(t, addressOf(hosts, "user=alice&password=open&sasl="+kind), nil); err != nil {
			t.Error(err)
		}
	}
	says(t, tryOpen(t, addressOf(hosts, "user=alice&password=sesame&sasl=oauthbearer&token=x"), nil), offset.ErrUnreachable, "sasl", "does not know this kind of login")
}

// A bootstrap server that works, and a broker whose advertised address does not.
func TestBR49Advertised(t *testing.T) {
	gone := closedPort(t)
	for host, texts := range map[string][]string{
		"no-such-host.invalid": {"broker 2 advertises itself as no-such-host.invalid:9092", "dns", "advertised.listeners"},
		gone:                   {"broker 2 advertises itself as " + gone, "connect", "refused"},
	} {
		f := fake(t, kfake.NumBrokers(3), kfake.ClusterID("fake"))
		adm, _ := admin(t, f.ListenAddrs())
		create(t, adm, 3, "orders")
		for i := range int32(3) {
			if err := f.MoveTopicPartition("orders", i, i); err != nil {
				t.Fatal(err)
			}
		}
		f.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
			f.KeepControl()
			return rewrite(t, f, req, host), nil, true
		})
		c := dialTo(t, f.ListenAddrs()[:1], "", nil)
		for _, s := range c.Probe(t.Context()) {
			if s.Name == "2" {
				says(t, s.Err, offset.ErrUnreachable, texts...)
			} else if s.Err != nil {
				t.Error(s.Err)
			}
		}
		var qs []offset.LogQuery
		for _, p := range partitions("orders", 3) {
			qs = append(qs, offset.LogQuery{Partition: p})
		}
		failed := 0
		for i, l := range c.Logs(t.Context(), qs) {
			if l.Err != nil {
				failed++
				says(t, l.Err, offset.ErrUnreachable, append(texts, qs[i].Partition.String())...)
			}
		}
		if failed != 1 {
			t.Errorf("%d of 3 partitions failed, one is led by the lost broker", failed)
		}
	}
}

// rewrite answers metadata in which broker 2 advertises another host, and leads partition 2.
func rewrite(t *testing.T, f *kfake.Cluster, req kmsg.Request, host string) kmsg.Response {
	m, ok := req.(*kmsg.MetadataRequest)
	if !ok {
		return nil
	}
	r, ok := m.ResponseKind().(*kmsg.MetadataResponse)
	if !ok {
		return nil
	}
	id := "fake"
	r.ClusterID = &id
	name, port := host, int32(9092)
	if h, p, err := net.SplitHostPort(host); err == nil {
		name, port = h, atoi(t, p)
	}
	for i, a := range f.ListenAddrs() {
		h, p, _ := net.SplitHostPort(a)
		b := kmsg.MetadataResponseBroker{NodeID: int32(i), Host: h, Port: atoi(t, p)}
		if i == 2 {
			b.Host, b.Port = name, port
		}
		r.Brokers = append(r.Brokers, b)
	}
	if len(m.Topics) == 0 {
		return r
	}
	for _, x := range m.Topics {
		topic := kmsg.MetadataResponseTopic{Topic: x.Topic}
		for i := range int32(3) {
			topic.Partitions = append(topic.Partitions, kmsg.MetadataResponseTopicPartition{Partition: i, Leader: i})
		}
		r.Topics = append(r.Topics, topic)
	}
	return r
}

// Of several bootstrap servers one is enough, whichever it is, also where another one takes connections and says nothing.
func TestBootstrapServers(t *testing.T) {
	f := fake(t)
	for _, hosts := range [][]string{
		{closedPort(t), f.ListenAddrs()[0]},
		{f.ListenAddrs()[0], closedPort(t)},
		{mute(t), f.ListenAddrs()[0]},
	} {
		c := dialTo(t, hosts, "", nil, kgo.RequestTimeoutOverhead(300*time.Millisecond))
		if _, err := c.Topology(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
}

func TestConfiguration(t *testing.T) {
	for options, text := range map[string]string{
		"sasl=plain&user=a":                     "needs the options user and password",
		"sasl=kerberos&krb5-conf=/no/such/file": "/no/such/file",
		"sasl=magic":                            "plain, scram-sha-256",
		"user=a&password=sesame":                "without the option sasl",
		"sasl=oauthbearer":                      "needs the option token",
		"ca=/no/such/file":                      "option ca",
		"tls=maybe":                             "option tls",
	} {
		says(t, tryOpen(t, addressOf([]string{"127.0.0.1:1"}, options), nil), offset.ErrConfig, text)
	}
}
