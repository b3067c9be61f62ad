package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetctl/offsetctl/internal/testservers"
)

// TestSQLConnectionErrors: who cannot come in is told why, in one sentence with the next step and without the password.
func TestSQLConnectionErrors(t *testing.T) {
	for _, engine := range []string{"mariadb", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			d, c := openDatabase(t, engine), kafkaCluster(t, "kafka44")
			topic := c.topic("t", 1, "retention.ms", "-1")
			s := testservers.Need(t, engine)
			o := c.operator("PW=wr0ng-secret", "GOOD="+appSecret)
			as := func(who, db, options string) string {
				return d.scheme + "://" + who + "@" + d.addr + "/" + db + options
			}
			for _, x := range []struct {
				name, store string
				code        int // 0: 2 or 5, where the server does not say whether there is such a thing
				want        string
			}{
				{"a wrong password", as("app:env:PW", "test", ""), 5, "refuses this user"},
				{"a password typed", as("app:wr0ng-secret", "test", ""), 5, "refuses this user"},
				{"a user who is not there", as("nobody:env:PW", "test", ""), 5, "refuses this user"},
				{"a database that is not there", as("app:env:GOOD", "nosuch", ""), 0, "nosuch"},
				{"an authority that nobody knows", as("app:env:GOOD", "test", "?tls=on"), 5, "(?i)certificate|x509|tls"},
				{"another authority", as("app:env:GOOD", "test", "?tls=on&ca="+s.Files["other-ca"]), 5, "(?i)certificate|x509|tls"},
				{"nobody listens", d.scheme + "://app:env:GOOD@127.0.0.1:1/test", 5, "127.0.0.1:1.*no connection"},
				{"an option that nobody knows", as("app:env:GOOD", "test", "?colour=red"), 2, `unknown option "colour"`},
			} {
				s := o.run("inspect", "-g", "g", "-t", topic, "--broker", c.url(), "--store", x.store, "--timeout", "10s")
				if s.code != x.code && (x.code != 0 || s.code != 2 && s.code != 5) {
					t.Errorf("%s: exit code %d, want %d: %s", x.name, s.code, x.code, s)
				}
				oneSentence(s.says(x.want, "!"+appSecret))
				if strings.Contains(s.out+s.err, "wr0ng-secret") {
					t.Errorf("%s: the password is shown: %s", x.name, s)
				}
				if x.code == 5 {
					o.exits(5, "check", "--broker", c.url(), "--store", x.store, "--timeout", "10s").says("FAIL +store")
				}
			}
			secure := as("app:env:GOOD", "test", "?tls=on&ca="+s.Files["ca"]+"&table="+d.name("tls"))
			o.exits(0, "store", "init", "--store", secure)
			o.exits(0, "check", "--broker", c.url(), "--store", secure, "-g", "g", "-t", topic, "--can", "reset").says("!FAIL")
			o.keepsSecrets(appSecret)
		})
	}
}

// oneSentence wants the error to be one line on standard error.
func oneSentence(s *said) {
	s.t.Helper()
	if lines := strings.Split(strings.TrimSpace(s.err), "\n"); len(lines) != 1 || !strings.HasPrefix(lines[0], "offsetctl: ") {
		s.t.Errorf("%d lines of error: %s", len(lines), s)
	}
}

// TestSQLUnsuitableTables: what cannot be a table of offsets is said with what it has, and nothing is written.
func TestSQLUnsuitableTables(t *testing.T) {
	everyEngine(t, func(t *testing.T, d *database) {
		c := kafkaCluster(t, "kafka44")
		topic := c.topic("t", 1, "retention.ms", "-1")
		c.produce(topic, 0, 10, 0)
		o := c.operator()
		other := d.table("other", `(k VARCHAR(20), v VARCHAR(20))`)
		d.exec("INSERT INTO " + other + " VALUES ('a', 'b')")
		floats := d.table("floats", `(topic VARCHAR(200), partid INT, "offset" FLOAT)`)
		d.exec("INSERT INTO " + floats + " VALUES ('" + topic + "', 0, 5)")
		for _, x := range []struct{ options, want string }{
			{"?table=nosuch", "nosuch.*store init"},
			{"?table=nosuch" + seedOptions, "nosuch"},
			{"?table=" + other, "none that .*store init.* made"},
			{"?table=" + other + seedOptions, `no column "topic".*it has k, v`},
			{"?table=" + floats + seedOptions, "make it bigint"},
			{"?table=" + other + "&topic=topic", "needs table=, topic=, partition= and offset="},
			{"?table=" + other + seedOptions + "&value=both", "next or last"},
		} {
			store := d.url(x.options)
			oneSentence(o.exits(2, "inspect", "-g", "g", "-t", topic, "--broker", c.url(), "--store", store).says(x.want, "!"+appSecret))
			o.exits(2, "reset", "-g", "g", "-t", topic, "--to-latest", "--yes", "--new-group", "--broker", c.url(), "--store", store, "--settle", "0").says(x.want)
		}
		d.has("SELECT * FROM "+other, "a b")
		d.has("SELECT topic FROM "+floats, topic)
		if es, _ := filepath.Glob(o.journal("*")); len(es) > 0 {
			t.Errorf("the journal has %v", es)
		}
	})
}

// TestProtectedAndReadOnly: contexts with a table, a journal in a database, and what they ask for.
func TestProtectedAndReadOnly(t *testing.T) {
	everyEngine(t, func(t *testing.T, d *database) {
		c := kafkaCluster(t, "kafka44")
		topic := c.topic("t", 1, "retention.ms", "-1")
		c.produce(topic, 0, 100, 0)
		table := d.table("guarded", keyedColumns)
		group := c.name
		d.exec(fmt.Sprintf(`INSERT INTO %s (grp, topic, partid, "offset") VALUES ('%s', '%s', 0, '50')`, table, group, topic))
		content := `SELECT "offset" FROM ` + table
		secret := "app:env:DBPW@"
		store := strings.Replace(d.url("?table="+table+keyedOptions), "app:"+appSecret+"@", secret, 1)
		journal := strings.Replace(d.url(""), "app:"+appSecret+"@", secret, 1)
		o := newOperator(t, "DBPW="+appSecret)
		context := func(name, more string) string {
			return fmt.Sprintf("  %s:\n    broker: %s\n    store: %q\n    journal: %q\n%s", name, c.url(), store, journal, more)
		}
		config := o.file("config.yaml", "current-context: prod\ncontexts:\n"+context("prod", "    protected: true\n")+context("look", "    read-only: true\n")+context("dev", ""))
		o.env = append(o.env, "OFFSETCTL_CONFIG="+config)
		reset := []string{"reset", "-g", group, "-t", topic, "--to-earliest", "--yes", "--settle", "0"}
		with := func(more ...string) []string { return append(append([]string{}, reset...), more...) }

		o.exits(0, "inspect", "-g", group).says("prod")
		o.exits(4, reset...).says("protected|--context prod")
		o.exits(4, with("--context", "prod")...).says("--confirm")
		o.exits(4, with("--context", "prod", "--confirm", "other")...).says("--confirm")
		o.exits(4, with("--context", "look")...).says("read-only")
		d.has(content, "50")
		o.exits(0, with("--context", "prod", "--confirm", group, "--reason", "INC-7")...).says("written 1 of 1")
		d.has(content, "0")

		o.exits(0, "history", "-g", group).says("INC-7", "written")
		again := newOperator(t, "DBPW="+appSecret, "OFFSETCTL_CONFIG="+config) // another machine, the same journal
		h := again.exits(0, "history", "-g", group).says("INC-7")
		m := regexp.MustCompile(`(?m)^ *(\d+) `).FindStringSubmatch(h.out)
		if m == nil {
			t.Fatal(h)
		}
		again.exits(0, "--context", "dev", "undo", m[1], "--yes", "--settle", "0").says("written 1 of 1")
		d.has(content, "50")
		for _, line := range d.rows("SELECT line FROM offsetctl_journal") {
			if strings.Contains(line, appSecret) {
				t.Errorf("the journal holds the password: %s", line)
			}
		}
		o.exits(0, "config", "view").says("!" + appSecret)
		o.keepsSecrets(appSecret)

		broken := newOperator(t, "DBPW=wr0ng", "OFFSETCTL_CONFIG="+o.file("broken.yaml", "contexts:\n  x:\n    broker: "+c.url()+"\n    journal: mysql://app:env:DBPW@127.0.0.1:1/test\n"))
		if s := broken.run(append([]string{"--context", "x"}, reset...)...); s.code != 4 && s.code != 5 {
			t.Errorf("a journal that cannot be reached: %s", s)
		} else {
			s.says("journal|127.0.0.1:1", "!wr0ng")
		}
	})
}

// TestAnotherCluster: a plan, an undo and a store remember the cluster that they were made with.
func TestAnotherCluster(t *testing.T) {
	t.Parallel()
	c := kafkaCluster(t, "kafka44")
	other := kafkaCluster(t, "kafka39")
	other.name = c.name
	topic := c.topic("t", 1, "retention.ms", "-1")
	other.topic("t", 1)
	c.produce(topic, 0, 100, 0)
	other.produce(topic, 0, 100, 0)
	group := c.name
	c.commit(group, topic, 0, 50, -1, "")
	other.commit(group, topic, 0, 50, -1, "")
	o := newOperator(t)
	run := func(code int, cl *cluster, args ...string) *said {
		t.Helper()
		return o.exits(code, append(args, "--broker", cl.url())...)
	}
	run(0, c, "reset", "-g", group, "-t", topic, "--to-earliest", "--plan-out", "plan.json")
	run(4, other, "apply", "plan.json", "--yes").says("cluster")
	run(0, c, "apply", "plan.json", "--yes").says("written 1 of 1")
	run(4, other, "undo", "1", "--yes").says("cluster")
	run(2, other, "undo", "--yes").says("no write to .* that could be undone")

	table := "sqlite:" + filepath.Join(o.dir, "own.db")
	o.exits(0, "store", "init", "--store", table)
	run(0, c, "reset", "-g", "g", "-t", topic, "--to-offset", "7", "--allow-skip", "--yes", "--new-group", "--settle", "0", "--store", table)
	run(4, other, "reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "0", "--store", table).says("--new-cluster")
	run(0, other, "reset", "-g", "g", "-t", topic, "--to-earliest", "--yes", "--settle", "0", "--store", table, "--new-cluster").says("written 1 of 1")
}

// TestPlansThatWereTouched: a plan is applied as it was made, or not at all.
func TestPlansThatWereTouched(t *testing.T) {
	t.Parallel()
	c := kafkaCluster(t, "kafka44")
	topic, group := c.topic("t", 1, "retention.ms", "-1"), c.name
	c.produce(topic, 0, 100, 0)
	c.commit(group, topic, 0, 50, -1, "")
	o := c.operator()
	o.exits(0, "reset", "-g", group, "-t", topic, "--to-offset", "40", "--plan-out", "plan.json")
	b, err := os.ReadFile(filepath.Join(o.dir, "plan.json"))
	c.must(err)
	plan := string(b)
	for name, x := range map[string]struct{ text, want string }{
		"a number":  {strings.Replace(plan, "40", "41", 1), "was changed after it was made"},
		"half":      {plan[:len(plan)/2], "not readable"},
		"empty":     {"", "not readable"},
		"no object": {"[]", "not readable"},
		"a later":   {regexp.MustCompile(`plan/v\d+`).ReplaceAllString(plan, "plan/v99"), "plan/v99|not readable"},
	} {
		file := o.file(strings.ReplaceAll(name, " ", "-")+".json", x.text)
		o.exits(4, "apply", file, "--yes").says(x.want)
	}
	o.exits(2, "apply", "nosuch.json", "--yes").says("nosuch.json")
	c.deleteTo(topic, 0, 45) // retention passes the target
	o.exits(4, "apply", "plan.json", "--yes").says("45", "--clamp")
	o.exits(0, "apply", "plan.json", "--yes", "--clamp").says("written 1 of 1")
	c.commit(group, topic, 0, 60, -1, "")
	o.exits(4, "apply", "plan.json", "--yes", "--clamp").says(topic + ":0")
	o.verdict(o.inspect(group), topic+":0", "ok", 60)
}

// TestUnknownNames: a group that nobody knows, one without offsets, topics and partitions that are not there.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	c := kafkaCluster(t, "kafka44")
	topic, group := c.topic("orders", 2, "retention.ms", "-1"), c.name
	c.produce(topic, 0, 10, 0)
	c.commit(group, topic, 0, 4, -1, "")
	o := c.operator()
	o.exits(1, "inspect", "-g", group+"-x").says("no group of this name", "!(?i)dead")
	oneSentence(o.exits(2, "inspect", "-g", group, "-t", topic[:len(topic)-1]).says("does not exist"))
	oneSentence(o.exits(2, "inspect", "-g", group, "-t", topic+":7").says(":7 does not exist"))
	oneSentence(o.exits(2, "reset", "-g", group, "-t", topic+":7", "--to-earliest", "--yes").says(":7 does not exist"))
	for _, bad := range []string{":x", ":-1", ":", ":0-", ":5-2", ":0,,1", ":99999999999"} {
		oneSentence(o.exits(2, "inspect", "-g", group, "-t", topic+bad))
	}
	_, err := c.adm.DeleteOffsets(c.ctx, group, kadm.TopicsSet{topic: {0: {}}})
	c.must(err)
	o.exits(1, "inspect", "-g", group).says("absent +nothing is stored", "!"+topic)
	o.exits(4, "reset", "-g", group+"-x", "-t", topic, "--to-latest", "--yes").says("NEW GROUP", "--new-group")
}

// TestBR23TopicNames: dots, numbers and neighbours in names are names, not syntax.
func TestBR23TopicNames(t *testing.T) {
	t.Parallel()
	c := kafkaCluster(t, "kafka44")
	dotted, near, group := c.topic("orders.v1.0", 3, "retention.ms", "-1"), c.topic("ordersXv1.0", 3, "retention.ms", "-1"), c.name
	for _, topic := range []string{dotted, near} {
		for p := range int32(3) {
			c.produce(topic, p, 100, 0)
			c.commit(group, topic, p, 10, -1, "")
		}
	}
	o := c.operator()
	o.exits(0, "reset", "-g", group, "--to-offset", dotted+":2=77", "--allow-skip", "--yes").says("written 1 of 1")
	rows := o.inspect(group)
	for p := range 3 {
		want := int64(10)
		if p == 2 {
			want = 77
		}
		o.verdict(rows, fmt.Sprintf("%s:%d", dotted, p), "ok", want)
		o.verdict(rows, fmt.Sprintf("%s:%d", near, p), "ok", 10)
	}
	oneSentence(o.exits(2, "inspect", "-g", group, "-t", "%RETRY%x").says("%RETRY%x", "!%!"))
}

// TestBR50TenThousandPartitions: 20 topics with 500 partitions on three brokers, each answer 5 ms late: requests are few, whatever
// the number of partitions, and partitions are sorted as numbers.
func TestBR50TenThousandPartitions(t *testing.T) {
	t.Parallel()
	var seeds []kfake.Opt
	for i := range 20 {
		seeds = append(seeds, kfake.SeedTopics(500, fmt.Sprintf("topic-%d", i)))
	}
	fake, err := kfake.NewCluster(append(seeds, kfake.NumBrokers(3), kfake.ListenFn(listenLate))...)
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	offsets := kadm.Offsets{}
	for i := range 20 {
		for p := range int32(500) {
			offsets.Add(kadm.Offset{Topic: fmt.Sprintf("topic-%d", i), Partition: p, LeaderEpoch: -1})
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	res, err := kadm.NewClient(cl).CommitOffsets(ctx, "g", offsets)
	if err == nil {
		err = res.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	table := "sqlite:" + filepath.Join(t.TempDir(), "own.db")
	o := newOperator(t, "OFFSETCTL_BROKER=kafka://"+strings.Join(fake.ListenAddrs(), ","))
	s := o.exits(0, "inspect", "-g", "g", "-o", "csv", "-v", "--stale-after", "0")
	sortedPartitions(t, s.out, 10_000)
	fewRequests(t, s.err)

	o.exits(0, "store", "init", "--store", table)
	o.exits(0, "copy", "--from-group", "g", "--to", table, "--all-topics", "--yes", "--new-group", "--settle", "0").says("written 10,000 of 10,000")
	s = o.exits(0, "inspect", "-g", "g", "-o", "csv", "-v", "--stale-after", "0", "--broker", "kafka://"+fake.ListenAddrs()[0], "--store", table)
	sortedPartitions(t, s.out, 10_000)
	fewRequests(t, s.err)
	if n := strings.Count(s.err, "SELECT"); n > 20 {
		t.Errorf("%d queries", n)
	}
}

// fewRequests counts the lines of -v by request.
func fewRequests(t *testing.T, trace string) {
	t.Helper()
	count := map[string]int{}
	for _, l := range strings.Split(trace, "\n") {
		if f := strings.Fields(l); len(f) >= 3 && strings.HasSuffix(f[0], "s") {
			count[f[2]]++
		}
	}
	t.Log(count)
	if count["ListOffsets"] == 0 || count["ListOffsets"] > 3*3 {
		t.Errorf("%d ListOffsets to three brokers", count["ListOffsets"])
	}
	if count["OffsetFetch"] > 4 || count["Metadata"] > 4 {
		t.Errorf("%d OffsetFetch, %d Metadata", count["OffsetFetch"], count["Metadata"])
	}
}

// sortedPartitions wants n rows of CSV, by topic and then by the partition's number.
func sortedPartitions(t *testing.T, csv string, n int) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(csv), "\n")[1:]
	if len(lines) != n {
		t.Fatalf("%d rows, want %d", len(lines), n)
	}
	lastTopic, last := "", -1
	for _, l := range lines {
		f := strings.Split(l, ",")
		p, err := strconv.Atoi(f[3])
		if err != nil || f[1] < lastTopic || f[1] == lastTopic && p != last+1 || f[1] > lastTopic && p != 0 {
			t.Fatalf("%s:%d is followed by %s", lastTopic, last, l)
		}
		lastTopic, last = f[1], p
	}
}

// listenLate is a listener whose connections hear everything 5 ms late.
func listenLate(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	return lateListener{l}, err
}

type lateListener struct{ net.Listener }

func (l lateListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return lateConn{c}, err
}

type lateConn struct{ net.Conn }

func (c lateConn) Write(b []byte) (int, error) {
	time.Sleep(5 * time.Millisecond)
	return c.Conn.Write(b)
}
