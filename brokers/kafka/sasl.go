package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

// login answers the mechanism that the address asks for; nil: no login.
func login(a address.Address, now func() time.Time) (sasl.Mechanism, error) {
	kind := strings.ToLower(a.Get("sasl"))
	if kind == "" {
		return nil, withoutLogin(a)
	}
	switch kind {
	case "plain", "scram-sha-256", "scram-sha-512", "aws-msk-iam":
		if a.Get("user") == "" || a.Get("password") == "" {
			return nil, offset.As(offset.ErrConfig, fmt.Errorf("sasl=%s needs the options user and password", kind))
		}
	}
	c := &credentials{address: a, now: now, at: now()}
	switch kind {
	case "plain":
		return plain.Plain(asking(c, func(a address.Address) plain.Auth {
			return plain.Auth{User: a.Get("user"), Pass: a.Get("password")}
		})), nil
	case "scram-sha-256":
		return scram.Sha256(asking(c, scramAuth)), nil
	case "scram-sha-512":
		return scram.Sha512(asking(c, scramAuth)), nil
	case "oauthbearer":
		if bearer(a).Token == "" {
			return nil, offset.As(offset.ErrConfig, errors.New("sasl=oauthbearer needs the option token"))
		}
		return oauth.Oauth(asking(c, bearer)), nil
	case "aws-msk-iam":
		return aws.ManagedStreamingIAM(asking(c, func(a address.Address) aws.Auth {
			return aws.Auth{AccessKey: a.Get("user"), SecretKey: a.Get("password"), SessionToken: a.Get("token")}
		})), nil
	case "kerberos":
		return kerberosLogin(a)
	}
	return nil, offset.As(offset.ErrConfig, fmt.Errorf("option sasl is %q: it is plain, scram-sha-256, scram-sha-512, oauthbearer, aws-msk-iam or kerberos", a.Get("sasl")))
}

func scramAuth(a address.Address) scram.Auth {
	return scram.Auth{User: a.Get("user"), Pass: a.Get("password")}
}

func bearer(a address.Address) oauth.Auth {
	return oauth.Auth{Token: cmp.Or(a.Get("token"), a.Get("password"))}
}

// credentials are what a user logs in with. Tokens expire and passwords are changed while a command runs for hours, so each login
// takes them from where they are kept.
type credentials struct {
	now func() time.Time

	mu      sync.Mutex
	address address.Address
	at      time.Time // when they were looked up
}

// keptFor is how long credentials are good without another look: the connections to all brokers are opened in one go.
const keptFor = 5 * time.Second

func (c *credentials) current() (address.Address, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Sub(c.at) < keptFor {
		return c.address, nil
	}
	a, err := c.address.Renew()
	if err != nil {
		return address.Address{}, err
	}
	c.address, c.at = a, c.now()
	return a, nil
}

// asking answers what the client library calls before each login, the ones that brokers demand of a long session too.
func asking[T any](c *credentials, auth func(address.Address) T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) {
		a, err := c.current()
		if err != nil {
			var none T
			return none, err
		}
		return auth(a), nil
	}
}

// withoutLogin refuses options that mean nothing without sasl: they would be left out without a word.
func withoutLogin(a address.Address) error {
	for _, o := range []string{"user", "password", "token", "service", "realm", "keytab", "krb5-conf"} {
		if a.Has(o) {
			return offset.As(offset.ErrConfig, fmt.Errorf("option %s is given without the option sasl, which says how to log in", o))
		}
	}
	return nil
}

// located is a mechanism that knows which server it talks to (the bootstrap address may stand for several), and whose own
// failures name the server.
type located struct {
	sasl.Mechanism
	d *dialer
}

// Authenticate starts a session with the server behind host.
func (l located) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	addr := l.d.real(host)
	l.d.reached(addr, stageSASL)
	s, first, err := l.Mechanism.Authenticate(ctx, addr)
	if err != nil {
		return nil, nil, &fault{addr: addr, stage: stageSASL, err: err}
	}
	return session{s, addr}, first, nil
}

// Close ends what the mechanism keeps open.
func (l located) Close() {
	if c, ok := l.Mechanism.(sasl.ClosingMechanism); ok {
		c.Close()
	}
}

type session struct {
	sasl.Session
	addr string
}

// Challenge answers the server.
func (s session) Challenge(b []byte) (bool, []byte, error) {
	done, next, err := s.Session.Challenge(b)
	if err != nil {
		err = &fault{addr: s.addr, stage: stageSASL, err: err}
	}
	return done, next, err
}
