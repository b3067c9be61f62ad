package cmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

// hosts tries all bootstrap or name servers side by side; one that works is enough to go on, and then the others are no failure.
func (k *checking) hosts(ctx context.Context, a address.Address) bool {
	conf, err := a.TLS()
	if err != nil {
		k.fail("tls", usage(err))
		return false
	}
	ctx, cancel := k.f.step(ctx)
	defer cancel()
	tried := make([]reached, len(a.Hosts))
	var all sync.WaitGroup
	for i, h := range a.Hosts {
		all.Go(func() { tried[i] = k.reach(ctx, h, conf) })
	}
	all.Wait()
	good := slices.ContainsFunc(tried, func(r reached) bool { return r.err == nil })
	for _, r := range tried {
		switch {
		case r.err == nil:
			k.ok(r.step, "%s", r.text)
		case good:
			k.warn(r.step, r.err.Error()+"; the others are asked")
		default:
			k.fail(r.step, r.err)
		}
	}
	return good
}

// reached is how far the way to one server led.
type reached struct {
	step, text string
	err        error
}

func (k *checking) reach(ctx context.Context, hostport string, conf *tls.Config) reached {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return reached{step: "dns", err: usage(err)}
	}
	if _, err := net.DefaultResolver.LookupHost(ctx, host); err != nil {
		return reached{step: "dns", err: fmt.Errorf("%w: name %s: %s; look at the spelling and at this machine's resolver", offset.ErrUnreachable, host, plainNetError(err))}
	}
	began := k.f.sys.Now()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", hostport)
	if err != nil {
		return reached{step: "tcp", err: fmt.Errorf("%w: %s: %s; is it the right port, and does a firewall let it through?", offset.ErrUnreachable, hostport, plainNetError(err))}
	}
	defer conn.Close()
	took := fmt.Sprintf("%.1f ms", float64(k.f.sys.Now().Sub(began).Microseconds())/1000)
	if conf == nil {
		return reached{step: "dns tcp", text: fmt.Sprintf("%s, %s", hostport, took)}
	}
	c := conf.Clone()
	if c.ServerName == "" {
		c.ServerName = host
	}
	tc := tls.Client(conn, c)
	if err := tc.HandshakeContext(ctx); err != nil {
		return reached{step: "tls", err: fmt.Errorf("%w: %s: TLS: %s", offset.ErrUnreachable, hostport, tlsAdvice(err))}
	}
	left := tc.ConnectionState().PeerCertificates[0].NotAfter.Sub(k.f.sys.Now())
	return reached{step: "dns tcp tls", text: fmt.Sprintf("%s, %s, certificate good for %d d", hostport, took, int(left.Hours()/24))}
}

// tlsAdvice adds the likely setting to what the TLS library says.
func tlsAdvice(err error) string {
	var record tls.RecordHeaderError
	text := strings.TrimPrefix(err.Error(), "tls: ")
	switch {
	case errors.As(err, &record), strings.Contains(text, "EOF"):
		return "the server does not speak TLS on this port: leave tls= out, or use its TLS port"
	case strings.Contains(text, "unknown authority"):
		return text + ": name the authority's file with ca="
	case strings.Contains(text, "certificate is valid for"), strings.Contains(text, "IP SANs"):
		return text + ": use that name as host, or give it with server-name="
	}
	return text
}

// plainNetError is the innermost reason: the address is named beside it already.
func plainNetError(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		return dns.Err
	case errors.As(err, &op) && op.Err != nil:
		return strings.TrimPrefix(op.Err.Error(), "connect: ")
	}
	return err.Error()
}

// advertised tries the address by which each broker is known to clients: with TLS and login where the driver can.
func (k *checking) advertised(ctx context.Context, b offset.Broker, known []offset.Server) {
	if p, ok := b.(offset.Prober); ok {
		known = p.Probe(ctx)
	} else {
		known = dialEach(ctx, known)
	}
	for _, s := range known {
		if s.Err != nil {
			k.fail("advertised", fmt.Errorf("%w: what it leads is unknown", s.Err))
			continue
		}
		k.ok("advertised", "broker %s at %s", s.Name, s.Addr)
	}
}

// dialEach opens a connection to each server, side by side.
func dialEach(ctx context.Context, known []offset.Server) []offset.Server {
	out := slices.Clone(known)
	var all sync.WaitGroup
	for i := range out {
		s := &out[i]
		if s.Err != nil {
			s.Err = fmt.Errorf("broker %s: %w", s.Name, s.Err)
			continue
		}
		all.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr)
			if err != nil {
				s.Err = fmt.Errorf("broker %s calls itself %s, which %w from here (%s); mend its advertised address or this machine's name resolution",
					s.Name, s.Addr, offset.ErrUnreachable, plainNetError(err))
				return
			}
			_ = conn.Close() // that it could be opened is all there is to know
		})
	}
	all.Wait()
	return out
}
