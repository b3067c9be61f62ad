//go:build linux

package machine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates for one server.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Certificates makes an authority and its certificates in the folder tls: ca,
// server, client (common name "client"), and other-ca, which signed nothing.
// Each is NAME.crt and NAME.key; NAME.pem has both.
func (i *Instance) Certificates() error {
	dir, err := i.Mkdir("", "tls")
	if err != nil {
		return err
	}
	ca, err := newAuthority(dir, "ca")
	if err != nil {
		return err
	}
	if _, err := newAuthority(dir, "other-ca"); err != nil {
		return err
	}
	for _, name := range []string{"server", "client"} {
		if err := ca.sign(name); err != nil {
			return err
		}
	}
	i.Files["ca"] = filepath.Join(dir, "ca.crt")
	i.Files["other-ca"] = filepath.Join(dir, "other-ca.crt")
	i.Files["client-cert"] = filepath.Join(dir, "client.crt")
	i.Files["client-key"] = filepath.Join(dir, "client.key")
	i.Files["server-cert"] = filepath.Join(dir, "server.crt")
	i.Files["server-key"] = filepath.Join(dir, "server.key")
	return nil
}

func newAuthority(dir, name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate(name)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{dir: dir, cert: cert, key: key}, writePair(dir, name, der, key)
}

func (a *Authority) sign(name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := certificate(name)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames = []string{"localhost"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	return writePair(a.dir, name, der, key)
}

func certificate(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // never fails
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
	}
}

func writePair(dir, name string, der []byte, key *ecdsa.PrivateKey) error {
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	// Keys are readable by all: they guard a throw-away server on loopback, which may run as another user.
	for suffix, text := range map[string][]byte{".crt": cert, ".key": secret, ".pem": append(append([]byte{}, secret...), cert...)} {
		if err := os.WriteFile(filepath.Join(dir, name+suffix), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
