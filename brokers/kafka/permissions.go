package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

var _ offset.Permitter = groupStore{}

// Permissions tells which of the rights that inspecting, or with write resetting, needs the user has. It asks only what changes
// nothing: the rights that brokers tell, and requests that are refused before they would do anything.
func (g groupStore) Permissions(ctx context.Context, group string, topics []string, write bool) []offset.Permission {
	p := &permitting{c: g.Cluster, group: group, topics: topics}
	asks := []func(context.Context) []offset.Permission{p.describeGroup, p.onTopics(write)}
	if write {
		asks = append(asks, p.readGroup, p.deleteGroup)
	}
	answers := make([][]offset.Permission, len(asks))
	f := p.c.find(ctx, []string{group})[0]
	if f.err != nil {
		p.node, p.err = bootNode, f.err
	} else {
		p.node = f.node
	}
	each(len(asks), func(i int) { answers[i] = asks[i](ctx) })
	var out []offset.Permission
	for _, a := range answers {
		out = append(out, a...)
	}
	return out
}

type permitting struct {
	c      *Cluster
	group  string
	topics []string
	node   int32
	err    error // of finding the coordinator, which needs DESCRIBE itself
}

// verdict is what the code of an answer says about a right.
func (p *permitting) verdict(right string, code int16, err error) []offset.Permission {
	out := offset.Permission{Right: right}
	switch kind := kindOf(kerr.ErrorForCode(code)); {
	case err != nil:
		out.Err = err
	case isAny(kind, offset.ErrDenied):
	case isAny(kind, offset.ErrUnreachable):
		out.Err = refused("group "+p.group, "", code, nil)
	default: // any other refusal comes after the one for want of rights
		out.Granted = true
	}
	return []offset.Permission{out}
}

func (p *permitting) describeGroup(context.Context) []offset.Permission {
	right := "group " + p.group + ": DESCRIBE"
	if p.err != nil && isAny(p.err, offset.ErrDenied) {
		return []offset.Permission{{Right: right}}
	}
	return p.verdict(right, 0, p.err)
}

// readGroup: a heartbeat of a member that does not exist needs the same right as a commit.
func (p *permitting) readGroup(ctx context.Context) []offset.Permission {
	right := "group " + p.group + ": READ"
	if p.err != nil {
		return p.unknown(right)
	}
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.Generation, req.MemberID = p.group, 0, "offsetctl-nobody"
	r, err := request[*kmsg.HeartbeatResponse](ctx, p.c, p.node, req)
	if err != nil {
		return p.verdict(right, 0, err)
	}
	return p.verdict(right, r.ErrorCode, nil)
}

// deleteGroup: deleting the positions of no partition.
func (p *permitting) deleteGroup(ctx context.Context) (out []offset.Permission) {
	defer func() {
		for i := range out {
			out[i].Only = "deleting a position or the group"
		}
	}()
	right := "group " + p.group + ": DELETE"
	if p.err != nil {
		return p.unknown(right)
	}
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = p.group
	r, err := request[*kmsg.OffsetDeleteResponse](ctx, p.c, p.node, req)
	if err != nil {
		return p.verdict(right, 0, err)
	}
	return p.verdict(right, r.ErrorCode, nil)
}

// unknown: without DESCRIBE on the group its coordinator is not told, and READ or DELETE would have implied DESCRIBE.
func (p *permitting) unknown(right string) []offset.Permission {
	if isAny(p.err, offset.ErrDenied) {
		return []offset.Permission{{Right: right}}
	}
	return []offset.Permission{{Right: right, Err: p.err}}
}

// onTopics asks for the rights on each topic, which brokers tell beside the metadata.
func (p *permitting) onTopics(write bool) func(context.Context) []offset.Permission {
	return func(ctx context.Context) (out []offset.Permission) {
		if len(p.topics) == 0 {
			return nil
		}
		req := metadataRequest(p.topics)
		req.IncludeTopicAuthorizedOperations = true
		r, err := request[*kmsg.MetadataResponse](ctx, p.c, bootNode, req)
		for _, name := range p.topics {
			describe := offset.Permission{Right: "topic " + name + ": DESCRIBE", Err: err}
			configs := offset.Permission{Right: "topic " + name + ": DESCRIBE_CONFIGS", Only: "retention", Err: err}
			read := offset.Permission{Right: "topic " + name + ": READ", Err: err}
			if err == nil {
				p.topicRights(r, name, &describe, &configs, &read)
			}
			out = append(out, describe, configs)
			if write {
				out = append(out, read)
			}
		}
		return out
	}
}

func (p *permitting) topicRights(r *kmsg.MetadataResponse, name string, describe, configs, read *offset.Permission) {
	for i := range r.Topics {
		t := &r.Topics[i]
		if deref(t.Topic) != name {
			continue
		}
		var err error
		switch {
		case t.ErrorCode == codeTopicDenied:
			return
		case t.ErrorCode != 0:
			err = refused("topic "+name, "DESCRIBE", t.ErrorCode, nil)
		case t.AuthorizedOperations == noRights:
			err = offset.As(offset.ErrUnsupported, fmt.Errorf("topic %s: the broker does not tell the rights on it", name))
		}
		if err != nil {
			describe.Err, configs.Err, read.Err = err, err, err
			return
		}
		has := func(op kmsg.ACLOperation) bool { return t.AuthorizedOperations&(1<<op) != 0 }
		describe.Granted = has(kmsg.ACLOperationDescribe)
		configs.Granted = has(kmsg.ACLOperationDescribeConfigs)
		read.Granted = has(kmsg.ACLOperationRead)
		return
	}
	describe.Err = leftOut("topic " + name)
	configs.Err, read.Err = describe.Err, describe.Err
}
