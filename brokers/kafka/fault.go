package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetctl/offsetctl/offset"
)

// stage is a step of reaching a server.
type stage string

const (
	stageDNS      stage = "dns"
	stageConnect  stage = "connect"
	stageTLS      stage = "tls"
	stageSASL     stage = "sasl"
	stageMetadata stage = "metadata" // connected, and where it was asked encrypted and logged in
)

// fault is a server that could not be reached: which one, at which step, and why.
type fault struct {
	addr  string
	stage stage
	err   error
	tls   bool   // the connection was encrypted, or should have been
	login string // the option sasl, "" without
	node  string // "broker 2" where the cluster named the address
	known bool   // the server has taken this login before
}

func (f *fault) Error() string {
	who := "Kafka at " + f.addr
	if f.node != "" {
		who = f.node + " advertises itself as " + f.addr + ", and"
	}
	s := who + " " + f.kind().Error() + ": " + string(f.stage) + ": " + f.reason()
	if f.refusedLogin() {
		s = who + ": the login is " + f.kind().Error() + ": " + string(f.stage) + ": " + f.reason()
	}
	if hint := f.suggest(); hint != "" {
		s += " (" + hint + ")"
	}
	return s
}

func (f *fault) Unwrap() error { return f.err }

// Is makes a refused login not permitted, and every other fault unreachable.
func (f *fault) Is(target error) bool { return target == f.kind() }

func (f *fault) kind() error {
	if f.refusedLogin() {
		return offset.ErrDenied
	}
	return offset.ErrUnreachable
}

func (f *fault) refusedLogin() bool {
	return f.stage == stageSASL && (errors.Is(f.err, kerr.SaslAuthenticationFailed) || isKDC(f.err))
}

// isKDC tells whether Kerberos' own server refused, which its library says in words alone.
func isKDC(err error) bool {
	s := err.Error()
	return strings.Contains(s, "KRB_ERROR") || strings.Contains(s, "KDC_ERR") || strings.Contains(s, "integrity verification failed")
}

// reason is the innermost text that says something.
func (f *fault) reason() string {
	var (
		dns   *net.DNSError
		errno syscall.Errno
		ne    net.Error
	)
	switch err := f.err; {
	case errors.As(err, &dns):
		return dns.Err
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		return "no answer within the time allowed"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, io.EOF):
		return "the server closed the connection"
	default:
		return strings.TrimPrefix(err.Error(), "unable to dial: ")
	}
}

// suggest names the setting that is likely to be wrong.
func (f *fault) suggest() string {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
	)
	err := f.err
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, context.DeadlineExceeded) && f.stage == stageTLS:
		return "a listener without TLS may say nothing: set tls=off, or take its TLS port"
	case errors.Is(err, context.DeadlineExceeded):
		return ""
	case f.stage == stageDNS && f.node != "":
		return "the bootstrap server answered: the broker's advertised.listeners must name a host that this machine can find"
	case f.stage == stageDNS:
		return "is the host's name right?"
	case f.stage == stageConnect && f.node != "":
		return "the bootstrap server answered: is that broker down, or does its advertised.listeners name a place that this machine cannot reach?"
	case f.stage == stageConnect:
		return "is a broker listening there?"
	case errors.Is(err, errTLSAlert):
		return "the listener wants TLS: set tls=on"
	case errors.As(err, &authority):
		return "the option ca names the authority that signed the server's certificate"
	case errors.As(err, &host):
		return "the option server-name says which name the certificate has"
	case errors.As(err, &invalid):
		return "the server's certificate is not valid"
	case f.stage == stageTLS && isAlert(err):
		return "the listener may want a client certificate that it trusts: options cert and key"
	case f.stage == stageTLS && f.tls && (errors.Is(err, io.EOF) || errors.As(err, &record) || errors.Is(err, syscall.ECONNRESET)):
		return "the listener may be one without TLS: set tls=off, or take its TLS port"
	case f.stage == stageTLS && !f.tls:
		return "the listener may want TLS: set tls=on"
	case f.stage == stageSASL:
		return f.suggestLogin()
	}
	return ""
}

func (f *fault) suggestLogin() string {
	err := f.err
	switch s := err.Error(); {
	case errors.Is(err, io.EOF) && f.login != "":
		return "some servers do so when they do not take the login: are user and password right, and does the listener take sasl=" + f.login + "?"
	case errors.Is(err, io.EOF):
		return "the listener may want a login: set the option sasl"
	case errors.Is(err, kerr.IllegalSaslState) && f.known:
		return "it took the login before: has the token run out? One that is given by file: or command: is taken anew for each login"
	case errors.Is(err, kerr.IllegalSaslState):
		return "the listener may want no login: leave the option sasl out"
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return "the listener does not know this kind of login: option sasl"
	case strings.Contains(s, "invalid_token"):
		return "is the token still valid, and issued for this cluster?"
	case strings.Contains(s, "GSSAPI"):
		return "the server did not take the ticket: is it addressed by the host name of its Kerberos principal, and is the option service right?"
	case strings.Contains(s, "S_PRINCIPAL_UNKNOWN"):
		return "Kerberos knows no such service: is the server addressed by the host name of its principal, and is the option service right?"
	case isKDC(err):
		return "Kerberos does not take user and password or keytab"
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return "are user and password right?"
	}
	return ""
}

// broken says in one sentence why a request to a server got no answer. addr is where it went, node its name; "" for a
// bootstrap server.
func (c *Cluster) broken(addr, node string, err error) error {
	if several := joined(err); several != nil {
		return fmt.Errorf("no bootstrap server answers (%w): %s", several[0].kind(), sentence(several))
	}
	var f *fault
	if errors.As(err, &f) {
		named := *f
		named.node, named.login, named.known = node, c.dial.sasl, c.dial.knows(addr)
		return &named
	}
	f = &fault{addr: addr, node: node, err: err, tls: c.dial.tls != nil, login: c.dial.sasl, stage: c.dial.stageOf(addr), known: c.dial.knows(addr)}
	var first *kgo.ErrFirstReadEOF
	switch {
	case errors.Is(err, kgo.ErrClientClosed):
		return fmt.Errorf("the connection to Kafka was closed: %w", err)
	case errors.As(err, &first) && c.dial.sasl == "":
		f.stage = stageSASL
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState):
		f.stage = stageSASL
	}
	return f
}

// joined finds the faults of several bootstrap servers; nil: there is one at most.
func joined(err error) (out []*fault) {
	for e := err; e != nil; e = errors.Unwrap(e) {
		j, ok := e.(interface{ Unwrap() []error })
		if !ok {
			continue
		}
		for _, part := range j.Unwrap() {
			var f *fault
			if errors.As(part, &f) {
				out = append(out, f)
			}
		}
		return out
	}
	return nil
}

func sentence(fs []*fault) string {
	parts := make([]string, len(fs))
	for i, f := range fs {
		parts[i] = f.Error()
	}
	return strings.Join(parts, "; ")
}
