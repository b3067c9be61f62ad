package kafka

import "github.com/offsetctl/offsetctl/address"

// Form is how a Kafka cluster is addressed.
var Form = address.Form{
	Schemes: []string{"kafka"},
	Example: "kafka://broker1:9092,broker2:9092?sasl=scram-sha-512&user=NAME&password=env:KAFKA_PASSWORD&tls=on",
	Port:    9092,
	Many:    true,
	User:    true,
	TLS:     true,
	Options: []address.Option{
		{Name: "sasl", Value: "plain|scram-sha-256|scram-sha-512|oauthbearer|aws-msk-iam|kerberos", Help: "how the user logs in. " +
			"With aws-msk-iam, user and password are the access key and its secret"},
		{Name: "token", Value: "env:NAME|file:PATH|command:LINE", Help: "the token of sasl=oauthbearer, the session token of sasl=aws-msk-iam. " +
			"From a file or a command it is taken anew for each login, as the password is, so that a long run outlives it", Secret: true},
		{Name: "service", Value: "NAME", Help: "of sasl=kerberos: the brokers' service name, kafka where it is not given"},
		{Name: "realm", Value: "NAME", Help: "of sasl=kerberos: the user's realm, the default realm of krb5.conf where it is not given"},
		{Name: "keytab", Value: "FILE", Help: "of sasl=kerberos: the user's key table, instead of a password"},
		{Name: "krb5-conf", Value: "FILE", Help: "of sasl=kerberos: the Kerberos configuration, /etc/krb5.conf where it is not given"},
	},
}
