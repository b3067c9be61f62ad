package rocketmq

import (
	"maps"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/brokers/remoting/remotingtest"
	"github.com/offsetctl/offsetctl/inspect"
)

// survey inspects a group as the command line does.
func survey(t testing.TB, c *Cluster, group, topic string) *inspect.Survey {
	t.Helper()
	sv, err := inspect.Take(t.Context(), c, c.Offsets(), true, inspect.Ask{
		Groups: []string{group}, Topics: []string{topic}, Now: epoch.Add(time.Minute), Stale: 24 * time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	return sv
}

// What inspect costs: a route and three requests a master, whatever the number of queues; more only for queues in doubt.
func TestInspectRequests(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		look := func(group string) (*inspect.Survey, map[remoting.Code]int) {
			fake.Counts()
			return survey(t, connect(t, testEnv(), fake.NameServers()), group, "orders"), fake.Counts()
		}
		for _, b := range []string{"broker-a", "broker-b"} {
			fake.Broker(b).Topic("orders", 64)
			for id := range int32(64) {
				fake.Broker(b).Fill("orders", id, 0, 9, epoch)
				fake.Broker(b).SetOffset("live", "orders", id, 5)
				fake.Broker(b).SetOffset("idle", "orders", id, 5)
			}
			fake.Broker(b).Connect("live", remotingtest.Client{ID: "c1", Filters: map[string]string{"orders": "*"}})
		}
		want := map[remoting.Code]int{remoting.CodeRoute: 1, remoting.CodeTopicStats: 2, remoting.CodeConsumeStats: 2, remoting.CodeConnections: 2}
		if _, got := look("idle"); !maps.Equal(got, want) {
			t.Errorf("nobody online: %v", got)
		}
		want[remoting.CodeRunningInfo] = 1
		if _, got := look("live"); !maps.Equal(got, want) {
			t.Errorf("one client online: %v", got)
		}
		// The message before a position cannot be read: is the start that the broker tells stale? Is what is unread old?
		a := fake.Broker("broker-a")
		a.Expire("orders", 3, 7, true)
		sv, got := look("live")
		want[remoting.CodeTopicStats]++
		want[remoting.CodePull] += 2
		if !maps.Equal(got, want) {
			t.Errorf("one queue in doubt: %v", got)
		}
		if l := sv.Lines[3]; l.Log.Value.Start != 7 || l.Stored.Value.Next != 5 || !l.Oldest.Equal(epoch.Add(-time.Second)) {
			t.Errorf("%+v", l)
		}
		// Positions whose last message was read long ago: the oldest unread one is looked at, one request each.
		for id := range int32(2) {
			a.Fill("orders", id, 0, 9, epoch.Add(-48*time.Hour))
		}
		sv, got = look("live")
		want[remoting.CodePull] += 2
		if !maps.Equal(got, want) || sv.Lines[0].Oldest.IsZero() || sv.Lines[2].Oldest != (time.Time{}) {
			t.Errorf("two stale queues: %v", got)
		}
	})
}

// verdicts are those of each row, and of the group.
func verdicts(sv *inspect.Survey) (rows []inspect.Verdict, group []inspect.Verdict) {
	rep := inspect.Classify(sv, inspect.Policy{Now: epoch.Add(time.Minute), StaleAfter: 24 * time.Hour})
	for i := range rep.Groups {
		for k := range rep.Groups[i].Rows {
			rows = append(rows, rep.Groups[i].Rows[k].Verdict)
		}
		for _, f := range rep.Groups[i].Findings {
			group = append(group, f.Verdict)
		}
	}
	return rows, group
}

// BR-29, BR-30 and BR-31 as inspect judges them.
func TestInspectVerdicts(t *testing.T) {
	onBoth(t, func(t *testing.T, fake *remotingtest.Cluster) {
		for _, b := range []string{"broker-a", "broker-b"} {
			fake.Broker(b).Topic("orders", 1)
			fake.Broker(b).Fill("orders", 0, 0, 100, epoch)
			fake.Broker(b).SetOffset("g", "orders", 0, 90)
		}
		fake.Broker("broker-a").Connect("tags", remotingtest.Client{ID: "c1", Filters: map[string]string{"orders": "A"}}, remotingtest.Client{ID: "c2", Filters: map[string]string{"orders": "B"}})
		fake.Broker("broker-a").Connect("radio", remotingtest.Client{ID: "c1", Broadcast: true, Filters: map[string]string{"orders": "*"}})
		c := connect(t, testEnv(), fake.NameServers())
		if rows, group := verdicts(survey(t, c, "g", "orders")); len(rows) != 2 || rows[0] != inspect.OK || rows[1] != inspect.OK || group != nil {
			t.Error(rows, group)
		}
		if _, group := verdicts(survey(t, c, "tags", "orders")); len(group) != 1 || group[0] != inspect.MixedSubscriptions {
			t.Error("different tags:", group)
		}
		rows, group := verdicts(survey(t, c, "radio", "orders"))
		for _, v := range append(rows, group...) {
			if v != inspect.Unknown {
				t.Error("broadcasting:", rows, group)
			}
		}
		fake.Broker("broker-a").Topic("%RETRY%g", 2)
		fake.Broker("broker-a").SetOffset("g", "%RETRY%g", 0, -1) // as clients do for an idle one
		fake.Broker("broker-a").SetOffset("g", "%RETRY%g", 1, 0)
		if rows, _ := verdicts(survey(t, c, "g", "%RETRY%g")); len(rows) != 2 || rows[0] != inspect.OK || rows[1] != inspect.OK {
			t.Error("an idle retry queue:", rows)
		}
		fake.Broker("broker-a").LeaveSlave(fake.Broker("broker-b").Addr())
		sv := survey(t, c, "g", "orders")
		if rows, _ := verdicts(sv); len(rows) != 2 || rows[0] != inspect.Unknown || rows[1] != inspect.OK {
			t.Error("a master is down:", rows)
		}
		if l := sv.Lines[0]; l.Partition != queue("orders", "broker-a", 0) || l.Log.Err == nil || l.Stored.Err == nil {
			t.Errorf("%+v", l)
		}
	})
}
