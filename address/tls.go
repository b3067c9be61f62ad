package address

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

var tlsOptions = []Option{
	{Name: "tls", Value: "on|insecure|off", Help: "encrypt; insecure does not look at the server's certificate. On as soon as ca, cert or server-name is given"},
	{Name: "ca", Value: "FILE", Help: "PEM file of the authorities that are trusted instead of the system's"},
	{Name: "cert", Value: "FILE", Help: "PEM file of the client's certificate"},
	{Name: "key", Value: "FILE", Help: "PEM file of the client's key; where it is missing, cert holds both"},
	{Name: "server-name", Value: "NAME", Help: "the name that the server's certificate must have, where it is not the host's"},
}

// TLS answers the client configuration that the address asks for, nil where it asks for plain text. There is no mode that
// goes on in plain text by itself. ServerName is empty unless given: the dialler puts the host there.
func (a Address) TLS() (*tls.Config, error) {
	mode := a.Get("tls")
	if mode == "" && (a.Has("ca") || a.Has("cert") || a.Has("server-name")) {
		mode = "on"
	}
	switch mode {
	case "", "off":
		return nil, nil
	case "on", "insecure":
	default:
		return nil, fmt.Errorf("option tls is %q: it is on, insecure or off", mode)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.Get("server-name"), InsecureSkipVerify: mode == "insecure"}
	if f := a.Get("ca"); f != "" {
		pem, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("option ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("option ca: %s holds no PEM certificate", f)
		}
	}
	if cert := a.Get("cert"); cert != "" {
		key := a.Get("key")
		if key == "" {
			key = cert
		}
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("options cert and key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	} else if a.Has("key") {
		return nil, fmt.Errorf("option key is given without cert")
	}
	return c, nil
}
