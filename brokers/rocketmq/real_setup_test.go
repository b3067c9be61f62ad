package rocketmq

import (
	"testing"

	"github.com/offsetctl/offsetctl/internal/testservers"
	rockettest "github.com/offsetctl/offsetctl/internal/testservers/rocketmq"
	"github.com/offsetctl/offsetctl/offset"
)

// realCluster is a real cluster, and the code under test connected to it.
type realCluster struct {
	*rockettest.Cluster
	c *Cluster
	t testing.TB
}

// onReal runs a test on a real cluster of each version.
func onReal(t *testing.T, f func(t *testing.T, r *realCluster)) {
	for _, name := range []string{"rocketmq49", "rocketmq55"} {
		t.Run(name, func(t *testing.T) { f(t, needReal(t, testservers.Need(t, name))) })
	}
}

func needReal(t testing.TB, s testservers.Server, options ...string) *realCluster {
	return &realCluster{rockettest.Use(t, s), connect(t, testEnv(), []string{s.Addr["namesrv"]}, options...), t}
}

// bounds asks for one queue's.
func (r *realCluster) bounds(p offset.Partition, prove bool) offset.Log {
	r.t.Helper()
	return log1(r.t, r.c, offset.LogQuery{Partition: p, Prove: prove})
}
