package testservers_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// TestKafkaTakesEveryLogin logs in as alice in every way, on the listener with
// TLS and on that without, and meets the authorizer: she may not make topics.
func TestKafkaTakesEveryLogin(t *testing.T) {
	s := testservers.Need(t, "kafka44")
	login := scram.Auth{User: "alice", Pass: "alice-secret"}
	mechanisms := map[string]sasl.Mechanism{
		"plain":         plain.Auth{User: "alice", Pass: "alice-secret"}.AsMechanism(),
		"scram-sha-256": login.AsSha256Mechanism(),
		"scram-sha-512": login.AsSha512Mechanism(),
		"oauthbearer":   oauth.Auth{Token: unsecuredToken("alice")}.AsMechanism(),
		"gssapi":        kerberosLogin(t, s.Files["krb5.conf"]),
	}
	for name, mechanism := range mechanisms {
		t.Run(name, func(t *testing.T) {
			refusedAsUser(t, s.Addr["sasl"], kgo.SASL(mechanism))
			refusedAsUser(t, s.Addr["sasltls"], kgo.SASL(mechanism), kgo.DialTLSConfig(&tls.Config{RootCAs: pool(t, s.Files["ca"])}))
		})
	}
}

func TestKafkaTakesCertificates(t *testing.T) {
	s := testservers.Need(t, "kafka44")
	config := &tls.Config{RootCAs: pool(t, s.Files["ca"])}
	topicOf(t, kafkaAdmin(t, s.Addr["tls"], kgo.DialTLSConfig(config)), 1) // anonymous: may do everything
	pair, err := tls.LoadX509KeyPair(s.Files["client-cert"], s.Files["client-key"])
	if err != nil {
		t.Fatal(err)
	}
	mutual := config.Clone()
	mutual.Certificates = []tls.Certificate{pair}
	refusedAsUser(t, s.Addr["mtls"], kgo.DialTLSConfig(mutual))
	stranger := kafkaAdmin(t, s.Addr["tls"], kgo.DialTLSConfig(&tls.Config{RootCAs: pool(t, s.Files["other-ca"])}))
	var unknown x509.UnknownAuthorityError
	if _, err := stranger.ListTopics(brief(t)); !errors.As(err, &unknown) {
		t.Errorf("with the other authority: %v, want an unknown authority", err)
	}
}

// refusedAsUser proves that the login was taken for a user without rights: the
// broker's authorizer, and nothing before it, refuses to make a topic.
func refusedAsUser(t *testing.T, addr string, opts ...kgo.Opt) {
	t.Helper()
	admin := kafkaAdmin(t, addr, opts...)
	answer, err := admin.CreateTopic(brief(t), 1, 1, nil, "forbidden")
	if !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Errorf("%s: making a topic answers %+v, %v; want a refusal by the authorizer", addr, answer, err)
	}
}

func brief(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func pool(t *testing.T, file string) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	certificates := x509.NewCertPool()
	if !certificates.AppendCertsFromPEM(text) {
		t.Fatalf("no certificate in %s", file)
	}
	return certificates
}

func unsecuredToken(user string) string {
	encode := base64.RawURLEncoding.EncodeToString
	now := time.Now().Unix()
	claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, user, now, now+3600)
	return encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(claims)) + "."
}

func kerberosLogin(t *testing.T, file string) sasl.Mechanism {
	t.Helper()
	krb, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return kerberos.Auth{Client: client.NewWithPassword("alice", "TEST.LOCAL", "alice-secret", krb), Service: "kafka"}.AsMechanism()
}
