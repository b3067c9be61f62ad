package kafka

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
)

// kerberosLogin reads what the address names; it asks no server yet. A user may be written with its realm: alice@EXAMPLE.COM.
func kerberosLogin(a address.Address) (sasl.Mechanism, error) {
	file := a.Get("krb5-conf")
	if file == "" {
		file = "/etc/krb5.conf"
	}
	conf, err := config.Load(file)
	if err != nil {
		return nil, offset.As(offset.ErrConfig, fmt.Errorf("sasl=kerberos: the configuration %s cannot be read (option krb5-conf): %w", file, err))
	}
	user, realm, _ := strings.Cut(a.Get("user"), "@")
	if r := a.Get("realm"); r != "" {
		realm = r
	}
	if realm == "" {
		realm = conf.LibDefaults.DefaultRealm
	}
	if user == "" || realm == "" {
		return nil, offset.As(offset.ErrConfig, fmt.Errorf("sasl=kerberos needs the option user, and realm where %s has no default realm", file))
	}
	auth := kerberos.Auth{Service: a.Get("service")}
	if auth.Service == "" {
		auth.Service = "kafka"
	}
	switch {
	case a.Get("keytab") != "":
		kt, err := keytab.Load(a.Get("keytab"))
		if err != nil {
			return nil, offset.As(offset.ErrConfig, fmt.Errorf("sasl=kerberos: option keytab: %w", err))
		}
		auth.Client = client.NewWithKeytab(user, realm, kt, conf)
	case a.Get("password") != "":
		auth.Client = client.NewWithPassword(user, realm, a.Get("password"), conf)
	default:
		return nil, offset.As(offset.ErrConfig, errors.New("sasl=kerberos needs the option keytab or password"))
	}
	return auth.AsMechanismWithClose(), nil
}
