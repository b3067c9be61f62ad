package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

// login answers the mechanism that the address asks for; nil: no login.
func login(a address.Address) (sasl.Mechanism, error) {
	kind := strings.ToLower(a.Get("sasl"))
	if kind == "" {
		return nil, withoutLogin(a)
	}
	user, password, token := a.Get("user"), a.Get("password"), a.Get("token")
	switch kind {
	case "plain", "scram-sha-256", "scram-sha-512", "aws-msk-iam":
		if user == "" || password == "" {
			return nil, offset.As(offset.ErrConfig, fmt.Errorf("sasl=%s needs the options user and password", kind))
		}
	}
	switch kind {
	case "plain":
		return plain.Auth{User: user, Pass: password}.AsMechanism(), nil
	case "scram-sha-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism(), nil
	case "scram-sha-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism(), nil
	case "oauthbearer":
		if token == "" {
			token = password
		}
		if token == "" {
			return nil, offset.As(offset.ErrConfig, errors.New("sasl=oauthbearer needs the option token"))
		}
		return oauth.Auth{Token: token}.AsMechanism(), nil
	case "aws-msk-iam":
		return aws.Auth{AccessKey: user, SecretKey: password, SessionToken: token}.AsManagedStreamingIAMMechanism(), nil
	case "kerberos":
		return kerberosLogin(a)
	}
	return nil, offset.As(offset.ErrConfig, fmt.Errorf("option sasl is %q: it is plain, scram-sha-256, scram-sha-512, oauthbearer, aws-msk-iam or kerberos", a.Get("sasl")))
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
