//go:build linux

package kinds

import (
	"context"
	"fmt"

	"github.com/offsetctl/offsetctl/internal/testservers/machine"
)

// startSecureKafka starts one node with a listener of every kind of security,
// and the Kerberos server that its GSSAPI mechanism needs.
func startSecureKafka(ctx context.Context, i *machine.Instance) error {
	if err := i.Certificates(); err != nil {
		return err
	}
	realm, err := startKerberos(ctx, i)
	if err != nil {
		return err
	}
	first, err := machine.Block(6)
	if err != nil {
		return err
	}
	node := &kraftNode{name: "broker", jars: kafka44Jars, heap: "512m", plain: machine.Local(first)}
	secureListeners(i, &node.lines, first)
	secureMechanisms(i, &node.lines, realm)
	node.lines.add(brokerLines + aloneLines + kraftLines + kafka4Lines)
	node.jvm = []string{"-Djava.security.krb5.conf=" + realm.conf}
	for _, user := range []string{"admin", "alice", "bob"} {
		for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
			node.format = append(node.format, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s-secret]", mechanism, user, user))
		}
	}
	run, err := node.prepare(ctx, i)
	if err != nil {
		return err
	}
	return i.Run(ctx, run)
}

// secureListeners take six ports in a row. The SASL listeners are advertised by
// the host name that stands in the Kerberos service principal.
func secureListeners(i *machine.Instance, l *properties, first int) {
	local := func(n int) string { return machine.Local(first + n) }
	host := func(n int) string { return fmt.Sprintf("localhost:%d", first+n) }
	controller := local(5)
	l.set("node.id", 1)
	l.set("controller.quorum.voters", "1@"+controller)
	l.set("listeners", fmt.Sprintf("PLAINTEXT://%s,SASL://%s,SSL://%s,MTLS://%s,SASLSSL://%s,CONTROLLER://%s",
		local(0), local(1), local(2), local(3), local(4), controller))
	l.set("advertised.listeners", fmt.Sprintf("PLAINTEXT://%s,SASL://%s,SSL://%s,MTLS://%s,SASLSSL://%s",
		local(0), host(1), local(2), local(3), host(4)))
	l.set("inter.broker.listener.name", "PLAINTEXT")
	l.set("listener.security.protocol.map",
		"PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,SSL:SSL,MTLS:SSL,SASLSSL:SASL_SSL,CONTROLLER:PLAINTEXT")
	i.Addr["plain"], i.Addr["sasl"], i.Addr["tls"] = local(0), host(1), local(2)
	i.Addr["mtls"], i.Addr["sasltls"] = local(3), host(4)
}

func secureMechanisms(i *machine.Instance, l *properties, realm realm) {
	l.set("sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER,GSSAPI")
	l.set("sasl.kerberos.service.name", "kafka")
	const security = "org.apache.kafka.common.security."
	for _, listener := range []string{"sasl", "saslssl"} {
		module := func(mechanism, line string) {
			l.set("listener.name."+listener+"."+mechanism+".sasl.jaas.config", line)
		}
		module("plain", security+`plain.PlainLoginModule required user_admin="admin-secret" user_alice="alice-secret" user_bob="bob-secret";`)
		module("scram-sha-256", security+"scram.ScramLoginModule required;")
		module("scram-sha-512", security+"scram.ScramLoginModule required;")
		module("oauthbearer", security+"oauthbearer.OAuthBearerLoginModule required;")
		module("gssapi", fmt.Sprintf("com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab=%q principal=%q;",
			realm.keytab, realm.service))
	}
	l.set("ssl.keystore.type", "PEM")
	l.set("ssl.keystore.location", i.Path("tls", "server.pem"))
	l.set("ssl.truststore.type", "PEM")
	l.set("ssl.truststore.location", i.Path("tls", "ca.crt"))
	l.set("listener.name.mtls.ssl.client.auth", "required")
	l.set("ssl.principal.mapping.rules", "RULE:^CN=([^,]+).*$/$1/,DEFAULT")
	l.set("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer")
	l.set("super.users", "User:ANONYMOUS;User:admin")
}
