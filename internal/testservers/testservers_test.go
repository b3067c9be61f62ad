//go:build linux

package testservers_test

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/go-zookeeper/zk"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/internal/testservers/kinds"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestEveryServerStarts holds that each is what the package's comment says: it
// can be had, and something listens at every address.
func TestEveryServerStarts(t *testing.T) {
	for _, kind := range kinds.All() {
		t.Run(kind.Name, func(t *testing.T) {
			s := testservers.Need(t, kind.Name)
			for listener, addrs := range s.Addr {
				for addr := range strings.SplitSeq(addrs, ",") {
					c, err := net.DialTimeout("tcp", addr, 5*time.Second)
					if err != nil {
						t.Errorf("listener %s: %v", listener, err)
						continue
					}
					_ = c.Close()
				}
			}
			for name, file := range s.Files {
				if _, err := os.Stat(file); err != nil {
					t.Errorf("file %s: %v", name, err)
				}
			}
		})
	}
}

// TestKilledServerComesBack kills all processes of a server and starts them on
// the data that they left: what crash tests do.
func TestKilledServerComesBack(t *testing.T) {
	for _, name := range []string{"mariadb", "postgres", "redis", "zookeeper", "kafka44"} {
		t.Run(name, func(t *testing.T) {
			s := testservers.NeedOwn(t, name)
			s.Kill("")
			if c, err := net.Dial("tcp", s.Addr["plain"]); err == nil {
				_ = c.Close()
				t.Errorf("%s still listens", s.Addr["plain"])
			}
			s.Start("")
			c, err := net.Dial("tcp", s.Addr["plain"])
			if err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
		})
	}
}

// topicOf makes a topic that no other test has.
func topicOf(t *testing.T, admin *kadm.Client, replicas int16) string {
	t.Helper()
	topic := fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())
	if _, err := admin.CreateTopic(t.Context(), 2, replicas, nil, topic); err != nil {
		t.Fatal(err)
	}
	return topic
}

func kafkaAdmin(t *testing.T, addr string, opts ...kgo.Opt) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(strings.Split(addr, ",")...), kgo.MetadataMinAge(20*time.Millisecond))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

func TestKafkaKeepsACommit(t *testing.T) {
	for _, name := range []string{"kafka44", "kafka44expire", "kafka39", "kafka28"} {
		t.Run(name, func(t *testing.T) {
			admin := kafkaAdmin(t, testservers.Need(t, name).Addr["plain"])
			topic := topicOf(t, admin, 1)
			commit := kadm.Offsets{}
			commit.AddOffset(topic, 1, 7, -1)
			if err := admin.CommitAllOffsets(t.Context(), topic, commit); err != nil {
				t.Fatal(err)
			}
			got, err := admin.FetchOffsets(t.Context(), topic)
			if err != nil {
				t.Fatal(err)
			}
			if o, ok := got.Lookup(topic, 1); !ok || o.At != 7 {
				t.Errorf("committed offset of partition 1: %+v, want 7", got)
			}
		})
	}
}

func TestDatabaseTellsItsTLS(t *testing.T) {
	for name, server := range map[string]struct{ driver, query, want string }{
		"mariadb":  {"mysql", "SELECT @@have_ssl", "YES"},
		"postgres": {"pgx", "SHOW ssl", "on"},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := sql.Open(server.driver, testservers.Need(t, name).Vars["dsn"])
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var got string
			if err := db.QueryRowContext(t.Context(), server.query).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != server.want {
				t.Errorf("%s answers %q, want %q", server.query, got, server.want)
			}
		})
	}
}

func TestToolsReachABroker(t *testing.T) {
	s := testservers.Need(t, "kafka44")
	topic := topicOf(t, kafkaAdmin(t, s.Addr["plain"]), 1)
	out := testservers.KafkaTool(t, "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
		"--bootstrap-server", s.Addr["plain"], "--group", topic, "--topic", topic, "--reset-offsets", "--to-earliest", "--execute")
	if out.Code != 0 || !strings.Contains(out.Stdout, topic) {
		t.Errorf("the reset printed %+v, want a row with %s", out, topic)
	}
	if out := testservers.Kcat(t, "-b", s.Addr["plain"], "-L", "-t", topic); !strings.Contains(out.Stdout, "2 partitions") {
		t.Errorf("kcat printed %+v, want 2 partitions", out)
	}
}

func TestClusterLosesAndRegainsANode(t *testing.T) {
	s := testservers.NeedOwn(t, "kafka44x3")
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Addr["plain/1"]))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	brokers := func() int { // by a request of its own: kadm's answer without topics is cached for good
		request := kmsg.NewPtrMetadataRequest()
		request.Topics = []kmsg.MetadataRequestTopic{}
		answer, err := request.RequestWith(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		return len(answer.Brokers)
	}
	await := func(want int) {
		t.Helper()
		for until := time.Now().Add(3 * time.Minute); brokers() != want; time.Sleep(200 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%d brokers after three minutes, want %d", brokers(), want)
			}
		}
	}
	await(3)
	s.Kill("2")
	await(2)
	s.Start("2")
	await(3)
}

func TestRedisKeepsAValue(t *testing.T) {
	clients := map[string]func(testservers.Server) redis.UniversalClient{
		"redis": func(s testservers.Server) redis.UniversalClient {
			return redis.NewClient(&redis.Options{Addr: s.Addr["plain"], Username: "alice", Password: s.Vars["password"]})
		},
		"rediscluster": func(s testservers.Server) redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{Addrs: strings.Split(s.Addr["plain"], ",")})
		},
		"redissentinel": func(s testservers.Server) redis.UniversalClient {
			return redis.NewFailoverClient(&redis.FailoverOptions{
				MasterName: s.Vars["master-name"], SentinelAddrs: strings.Split(s.Addr["sentinels"], ","), Password: s.Vars["password"],
			})
		},
	}
	for name, open := range clients {
		t.Run(name, func(t *testing.T) {
			client := open(testservers.Need(t, name))
			defer client.Close()
			key := "alice:" + t.Name()
			if err := client.Set(t.Context(), key, "7", time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
			if got, err := client.Get(t.Context(), key).Result(); err != nil || got != "7" {
				t.Errorf("the key holds %q (%v), want 7", got, err)
			}
		})
	}
}

func TestZooKeeperKeepsANode(t *testing.T) {
	for _, name := range []string{"zookeeper", "zookeeper3"} {
		t.Run(name, func(t *testing.T) {
			s := testservers.Need(t, name)
			conn, _, err := zk.Connect(strings.Split(s.Addr["plain"], ","), 5*time.Second, zk.WithLogInfo(false))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.AddAuth("digest", []byte(s.Vars["superuser"])); err != nil {
				t.Fatal(err)
			}
			path := fmt.Sprintf("/self-test-%d", time.Now().UnixNano())
			if _, err := conn.Create(path, []byte("7"), 0, zk.DigestACL(zk.PermAll, "someone", "else")); err != nil {
				t.Fatal(err)
			}
			if got, _, err := conn.Get(path); err != nil || string(got) != "7" { // only the superuser may
				t.Errorf("the node holds %q (%v), want 7", got, err)
			}
		})
	}
}
