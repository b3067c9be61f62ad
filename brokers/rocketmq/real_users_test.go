package rocketmq

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/offsetctl/offsetctl/brokers/remoting"
	"github.com/offsetctl/offsetctl/internal/testservers"
	"github.com/offsetctl/offsetctl/offset"
)

// It boots servers of its own while others wait.
func TestRealAccessControl(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rocketmq49acl", "rocketmq55acl"} {
		t.Run(name, func(t *testing.T) {
			s := testservers.Need(t, name)
			r := needReal(t, s, "access-key="+s.Vars["access-key"], "secret-key="+s.Vars["secret-key"])
			topic, group := r.Topic("acl", 1, "broker-a"), r.Group("acl")
			q := queue(topic, "broker-a", 0)
			if w := put1(t, r.c, group, q, at(0)); show(w) != "0" {
				t.Fatal(show(w))
			}
			if p := r.c.Peek(t.Context(), []offset.Position{{Partition: q}})[0]; p.Err != nil {
				t.Error("the administrator peeks:", p.Err)
			}
			for what, options := range map[string][]string{
				"unsigned":     nil,
				"wrong secret": {"access-key=" + s.Vars["access-key"], "secret-key=wrongsecret1"},
				"unknown user": {"access-key=nobody001", "secret-key=wrongsecret1"},
			} {
				c := connect(t, testEnv(), []string{s.Addr["namesrv"]}, options...)
				if _, err := c.Topology(t.Context(), []string{topic}); err != nil {
					t.Error("name servers ask for nothing:", err)
				}
				l := c.Logs(t.Context(), []offset.LogQuery{{Partition: q}})[0]
				x := read(t, c, group, q)[0]
				for _, err := range []error{l.Err, x.Err} {
					if !errors.Is(err, offset.ErrDenied) || strings.Contains(err.Error(), "wrongsecret1") {
						t.Errorf("%s: %v", what, err)
					}
				}
			}
			reader := r.reader(topic, group)
			if x := read(t, reader, group, q)[0]; show(x) != "0" {
				t.Error("a reader reads:", show(x))
			}
			p := reader.Peek(t.Context(), []offset.Position{{Partition: q}})[0]
			if !errors.Is(p.Err, offset.ErrDenied) || !strings.Contains(p.Err.Error(), "TOOLS_CONSUMER") {
				t.Error("peeking takes a grant of its own:", p.Err)
			}
			want := "yes no yes yes"
			if r.Old() { // its reader may subscribe as another group only
				want = "yes no yes no"
			}
			if got := rights(t, reader, group, topic); got != want {
				t.Error("a reader who may not look at messages:", got)
			}
			if got := rights(t, r.c, group, topic); got != "yes yes yes yes" {
				t.Error("the administrator:", got)
			}
			if got := rights(t, connect(t, testEnv(), []string{s.Addr["namesrv"]}), group, topic); got != "no no no no" {
				t.Error("nobody:", got)
			}
			if err := (store{reader}).CreateGroup(t.Context(), r.Name+"-x"); r.Old() && !errors.Is(err, offset.ErrDenied) {
				t.Error("4.9 lets administrators alone make groups:", err)
			}
		})
	}
}

// rights are: bounds, messages, the group's members and positions, storing positions.
func rights(t testing.TB, c *Cluster, group, topic string) string {
	var out []string
	for _, p := range (store{c}).Permissions(t.Context(), group, []string{topic}, true) {
		switch {
		case p.Err != nil:
			t.Errorf("%s: %v", p.Right, p.Err)
		case p.Granted:
			out = append(out, "yes")
		default:
			out = append(out, "no")
		}
	}
	return strings.Join(out, " ")
}

// reader connects as a user who may read the topic and the group. 4.9 has one in its file, who may read anything.
func (r *realCluster) reader(topic, group string) *Cluster {
	user, secret := "readonly1", "readsecret1"
	if !r.Old() {
		user = "reader001"
		for _, b := range []string{"broker-a", "broker-b"} {
			_, err := r.Admin.Do(r.t.Context(), r.Addr[b], remoting.Request{Code: remoting.CodeCreateUser, Ext: map[string]string{"username": user},
				Body: []byte(`{"username":"reader001","password":"readsecret1","userType":"Normal"}`)})
			if err != nil && !strings.Contains(err.Error(), "exist") {
				r.t.Fatal(err)
			}
			body := fmt.Sprintf(`{"subject":"User:%s","policies":[{"policyType":"CUSTOM","entries":[{"resource":"Topic:%s","actions":["Sub","Get"],"decision":"Allow"},{"resource":"Group:%s","actions":["Sub","Get"],"decision":"Allow"}]}]}`, user, topic, group)
			_, err = r.Admin.Do(r.t.Context(), r.Addr[b], remoting.Request{Code: remoting.CodeCreatePermission, Ext: map[string]string{"subject": "User:" + user}, Body: []byte(body)})
			r.Must(err)
		}
	}
	return connect(r.t, testEnv(), []string{r.Server.Addr["namesrv"]}, "access-key="+user, "secret-key="+secret)
}
