//go:build linux

package kinds

import (
	"context"
	"fmt"

	"github.com/offsetctl/offsetctl/internal/testservers/artifacts"
	"github.com/offsetctl/offsetctl/internal/testservers/machine"
)

var (
	krb5kdc     = artifacts.Package{Name: "krb5-kdc", Program: "krb5kdc"}
	kadminLocal = artifacts.Package{Name: "krb5-admin-server", Program: "kadmin.local"}

	kerberosPackages = []artifacts.Item{krb5kdc, kadminLocal}
)

// realm is a running Kerberos realm with one service.
type realm struct {
	conf    string // krb5.conf for clients
	service string // the broker's principal
	keytab  string // of the service
}

const realmName = "TEST.LOCAL"

func startKerberos(ctx context.Context, i *machine.Instance) (realm, error) {
	port, err := machine.Port()
	if err != nil {
		return realm{}, err
	}
	kdc := machine.Local(port)
	r := realm{service: "kafka/localhost@" + realmName, keytab: i.Path("krb", "broker.keytab")}
	if r.conf, err = i.Write("krb/krb5.conf", krb5Conf(kdc)); err != nil {
		return r, err
	}
	profile, err := i.Write("krb/kdc.conf", kdcConf(kdc, i.Path("krb")))
	if err != nil {
		return r, err
	}
	env := []string{"KRB5_CONFIG=" + r.conf, "KRB5_KDC_PROFILE=" + profile}
	if err := i.Exec(ctx, "", env, artifacts.Program("kdb5_util"), "create", "-s", "-r", realmName, "-P", "master-secret"); err != nil {
		return r, err
	}
	alice := i.Path("krb", "alice.keytab")
	for _, query := range []string{
		"addprinc -randkey kafka/localhost", "ktadd -k " + r.keytab + " kafka/localhost",
		"addprinc -pw alice-secret alice", "ktadd -norandkey -k " + alice + " alice",
	} {
		if err := i.Exec(ctx, "", env, kadminLocal.Path(), "-r", realmName, "-q", query); err != nil {
			return r, err
		}
	}
	i.Addr["kdc"] = kdc
	i.Files["krb5.conf"], i.Files["alice.keytab"] = r.conf, alice
	return r, i.Run(ctx, machine.Node{
		Name: "kdc", Command: []string{krb5kdc.Path(), "-n"}, Env: env, Ready: machine.Listening(kdc),
	})
}

func krb5Conf(kdc string) string {
	return fmt.Sprintf(`[libdefaults]
 default_realm = %[1]s
 dns_lookup_kdc = false
 dns_lookup_realm = false
 rdns = false
 dns_canonicalize_hostname = false
 udp_preference_limit = 1
[realms]
 %[1]s = {
  kdc = %[2]s
 }
[domain_realm]
 localhost = %[1]s
`, realmName, kdc)
}

func kdcConf(kdc, dir string) string {
	return fmt.Sprintf(`[kdcdefaults]
 kdc_listen = %[2]s
 kdc_tcp_listen = %[2]s
[realms]
 %[1]s = {
  database_name = %[3]s/principal
  key_stash_file = %[3]s/stash
  supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
 }
[logging]
 kdc = FILE:%[3]s/kdc.log
`, realmName, kdc, dir)
}
