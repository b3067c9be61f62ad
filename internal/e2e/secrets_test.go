package e2e

import (
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/internal/testservers"
)

// TestNoSecretAnywhere: passwords that were typed on the command line, in every place where they can stand, are neither shown
// nor kept: not by -v, in errors, in plans, in undo files, in the journal or in the commands that are offered to be copied.
func TestNoSecretAnywhere(t *testing.T) {
	t.Parallel()
	kafka, d := testservers.Need(t, "kafka44"), openDatabase(t, "mariadb")
	c := clusterAt(t, kafka.Addr["plain"])
	topic, table := c.topic("t", 1, "retention.ms", "-1"), "?table="+d.table("secret", keyedColumns)
	c.produce(topic, 0, 100, 0)
	group := c.name
	d.exec("INSERT INTO " + strings.TrimPrefix(table, "?table=") + ` (grp, topic, partid, "offset") VALUES ('` + group + "', '" + topic + "', 0, '500')")
	const kafkaSecret = "admin-secret"
	broker := "kafka://" + kafka.Addr["sasl"] + "?sasl=scram-sha-256&user=admin&password=" + kafkaSecret
	inUser := d.url(table + keyedOptions)
	inOption := d.scheme + "://" + d.addr + "/test" + table + keyedOptions + "&user=app&password=" + appSecret
	for _, store := range []string{inUser, inOption} {
		o := newOperator(t)
		run := func(code int, args ...string) {
			t.Helper()
			s := o.exits(code, append(args, "-v", "--broker="+broker, "--store="+store)...)
			for _, secret := range []string{appSecret, kafkaSecret} {
				if strings.Contains(s.out+s.err, secret) {
					t.Errorf("a secret is shown: %s", s)
				}
			}
		}
		run(1, "inspect", "-g", group)
		run(1, "inspect", "-g", group, "-o", "json")
		run(0, "check", "-g", group)
		run(4, "reset", "-g", group, "-t", topic, "--repair", "--yes", "--settle", "0")
		run(0, "reset", "-g", group, "-t", topic, "--to-latest", "--plan-out", "plan.json")
		run(0, "apply", "plan.json", "--yes", "--undo-out", "undo.json", "--settle", "0")
		run(0, "apply", "undo.json", "--yes", "--settle", "0", "-o", "json")
		run(0, "reset", "-g", group, "-t", topic, "--to-latest", "--yes", "--settle", "0", "--reason", "r")
		run(0, "history")
		run(0, "history", "1", "-o", "json")
		run(0, "copy", "--from", store, "--from-group", group, "--to", broker, "--to-group", group+"-"+d.name("copy"), "-t", topic, "--yes", "--new-group")
		run(0, "undo", "3", "--yes", "--settle", "0")
		run(2, "inspect", "-g", group, "-t", "nosuch")
		for _, secret := range []string{appSecret, kafkaSecret} {
			o.keepsSecrets(secret)
		}
		o.exits(0, "config", "set-context", "x", "--broker", broker, "--store", store) // the one place that keeps what it is given
		s := o.exits(0, "config", "view", "-o", "yaml")
		if strings.Contains(s.out+s.err, "-secret") {
			t.Errorf("a secret is shown: %s", s)
		}
	}
}
