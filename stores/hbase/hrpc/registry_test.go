package hrpc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hbasetest"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
)

// byZooKeeper is config for a cluster that is found through ZooKeeper.
func byZooKeeper(addr string) hrpc.Config {
	c := config(addr)
	c.Masters, c.Parent = false, "/hbase"
	return c
}

func openBy(t testing.TB, cfg hrpc.Config) *hrpc.Client {
	t.Helper()
	client, err := hrpc.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestThroughZooKeeper(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{Version: "2.4.18"})
	c.Put("a", "0", "1", 0)
	client := openBy(t, byZooKeeper(c.ZooKeeper().Addr))
	if client.Version() != "2.4.18" || value(t, client, "a") != "1" {
		t.Errorf("HBase %s", client.Version())
	}
	if made, err := client.Create(t.Context()); err != nil || len(made) != 0 {
		t.Errorf("the table was made: %q, %v", made, err)
	}
}

// The ZooKeeper library gives a call up as soon as one connection to the only host is lost before it has a session.
func TestZooKeeperLosesConnections(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	c.Put("a", "0", "1", 0)
	z := c.ZooKeeper()
	z.Cut(1)
	client := openBy(t, byZooKeeper(z.Addr))
	z.Cut(1)
	if v := value(t, client, "a"); v != "1" {
		t.Errorf("%q", v)
	}
}

// A cluster that is starting has not registered everything yet.
func TestClusterThatStarts(t *testing.T) {
	for _, node := range []string{"/hbase/rs", "/hbase/rs/localhost,1,1", "/hbase/meta-region-server", "/hbase/master"} {
		t.Run(node, func(t *testing.T) {
			t.Parallel()
			c := hbasetest.Start(t, hbasetest.Options{Table: "-"})
			z := c.ZooKeeper()
			restore := z.Remove(node)
			time.AfterFunc(300*time.Millisecond, restore)
			client := openBy(t, byZooKeeper(z.Addr))
			c.Starting(3)
			if made, err := client.Create(t.Context()); err != nil || len(made) != 2 {
				t.Errorf("%q, %v", made, err)
			}
			if v := value(t, client, "a"); v != "" {
				t.Errorf("%q", v)
			}
		})
	}
}

// Masters that answer and are not ready are waited for; those that do not answer are not, for long.
func TestMastersThatStart(t *testing.T) {
	c := hbasetest.Start(t, hbasetest.Options{})
	c.Starting(5)
	open(t, c)

	c.Starting(1 << 30)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := hrpc.Open(ctx, config(c.Addr())); !errors.Is(err, offset.ErrUnreachable) || !strings.Contains(err.Error(), c.Addr()+": IOException") {
		t.Error(err)
	}
	if _, err := hrpc.Open(t.Context(), config("127.0.0.1:1")); !errors.Is(err, offset.ErrUnreachable) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Error(err)
	}
}
