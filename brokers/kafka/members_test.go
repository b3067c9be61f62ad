package kafka

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// A streams task owns the same partition of every source topic of its part of the topology.
func TestStreamsGroup(t *testing.T) {
	r := kmsg.NewPtrStreamsGroupDescribeResponse()
	r.Groups = []kmsg.StreamsGroupDescribeResponseGroup{{
		Group: "words", State: "Stable",
		Topology: &kmsg.StreamsGroupDescribeResponseGroupTopology{Subtopologies: []kmsg.StreamsGroupDescribeResponseGroupTopologySubtopology{
			{SubtopologyID: "0", SourceTopics: []string{"orders", "lines"}}, {SubtopologyID: "1", SourceTopics: []string{"counts"}},
		}},
		Members: []kmsg.StreamsGroupDescribeResponseGroupMember{{
			MemberID: "m", ClientID: "app", ClientHost: "/10.0.0.7",
			Assignment: kmsg.StreamsAssignment{ActiveTasks: []kmsg.TaskIDs{{SubtopologyID: "0", Partitions: []int32{2, 0}}}},
		}},
	}}
	all := described(r, nil)
	if len(all) != 1 || all[0].name != "words" {
		t.Fatalf("%+v", all)
	}
	m := all[0].group().Members[0]
	want := []offset.Partition{partition("lines", 0), partition("lines", 2), partition("orders", 0), partition("orders", 2)}
	if m.Host != "10.0.0.7" || !slices.Equal(m.Owns, want) || len(m.Subscribes) != 3 {
		t.Errorf("%+v, it should own %v", m, want)
	}
	if p := phaseOf("NotReady"); p != offset.Live {
		t.Errorf("a group that is not ready is %s", p)
	}
}

// The broker that keeps a group is found by Java's hash of its name.
func TestHomeOf(t *testing.T) {
	for name, want := range map[string]int32{"": 0, "a": 97 % 50, "billing": homeByHand("billing"), "ü": 252 % 50} {
		if n := homeOf(name, 50); n != want {
			t.Errorf("%q is kept in %d, it should be %d", name, n, want)
		}
	}
	// The one hash that has no positive counterpart.
	if n := homeOf("polygenelubricants", 50); n != 0 {
		t.Errorf("the smallest hash goes to %d", n)
	}
}

// homeByHand is the definition: s[0]*31^(n-1) + … + s[n-1] in 32 bits.
func homeByHand(s string) int32 {
	var h uint32
	for _, c := range []byte(s) {
		h = h*31 + uint32(c)
	}
	n := int64(int32(h))
	return int32(max(n, -n) % 50)
}

func TestVisibility(t *testing.T) {
	deny, allow := kmsg.ACLPermissionTypeDeny, kmsg.ACLPermissionTypeAllow
	acl := func(name string, pattern kmsg.ACLResourcePatternType, p kmsg.ACLPermissionType) kmsg.DescribeACLsResponseResource {
		return kmsg.DescribeACLsResponseResource{ResourceName: name, ResourcePatternType: pattern, ACLs: []kmsg.DescribeACLsResponseResourceACL{{PermissionType: p}}}
	}
	literal, prefix := kmsg.ACLResourcePatternTypeLiteral, kmsg.ACLResourcePatternTypePrefixed
	list := func(rs ...kmsg.DescribeACLsResponseResource) *kmsg.DescribeACLsResponse {
		return &kmsg.DescribeACLsResponse{Resources: rs}
	}
	all := acl("*", literal, allow)
	const describes = 1 << kmsg.ACLOperationDescribe
	for name, x := range map[string]struct {
		p              proof
		topics, groups bool // proven whole
		ask            []string
	}{
		"no authorizer":              {proof{acls: &kmsg.DescribeACLsResponse{ErrorCode: 54}, denied: true}, true, true, nil},
		"may not read ACLs":          {proof{acls: &kmsg.DescribeACLsResponse{ErrorCode: 31}}, false, false, nil},
		"restricted":                 {proof{acls: &kmsg.DescribeACLsResponse{ErrorCode: 31}, denied: true}, false, false, nil},
		"groups only":                {proof{acls: &kmsg.DescribeACLsResponse{ErrorCode: 31}, denied: true, cluster: describes}, false, true, nil},
		"rights not told":            {proof{acls: list(), cluster: noRights}, true, false, nil},
		"everything, no ACL":         {proof{acls: list(), cluster: describes}, true, true, nil},
		"all topics, others' rights": {proof{acls: list(all, acl("orders", literal, allow), acl("team", prefix, allow)), cluster: describes}, true, true, nil},
		"one denied":                 {proof{acls: list(all, acl("orders", literal, deny)), cluster: describes}, true, true, []string{"orders"}},
		"a prefix denied":            {proof{acls: list(all, acl("team", prefix, deny)), cluster: describes}, false, true, nil},
		"no right on all topics":     {proof{acls: list(acl("orders", literal, allow)), cluster: describes}, true, true, []string{"orders"}},
		"and a prefix":               {proof{acls: list(acl("team", prefix, allow)), cluster: describes}, false, true, nil},
	} {
		v, ask := x.p.judge()
		if (v.topics == nil) != x.topics || (v.groups == nil) != x.groups || !slices.Equal(ask, x.ask) {
			t.Errorf("%s: topics %v, groups %v, ask %v", name, v.topics, v.groups, ask)
		}
	}
}
