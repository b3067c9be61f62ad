package kafka

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetctl/offsetctl/offset"
)

// visibility says why answers about "all" may be short. Brokers leave out without a word what the user may not see, so an answer
// is whole only where that is proven. nil: proven.
type visibility struct{ topics, groups error }

// visible keeps the last visibility for a while, and lets those who ask meanwhile share a look.
type visible struct {
	at      time.Time
	v       visibility
	running chan struct{}
}

const visibleFor = time.Minute

// visibility looks beside other requests; the channel has one answer.
func (c *Cluster) visibility(ctx context.Context) <-chan visibility {
	out := make(chan visibility, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.visible.running == nil && !c.visible.at.IsZero() && c.env.Now().Sub(c.visible.at) < visibleFor {
		out <- c.visible.v
		return out
	}
	if c.visible.running == nil {
		c.visible.running = make(chan struct{})
		go c.lookAround(ctx)
	}
	running := c.visible.running
	go func() {
		select {
		case <-running:
			c.mu.Lock()
			v := c.visible.v
			c.mu.Unlock()
			out <- v
		case <-ctx.Done():
			err := fmt.Errorf("whether this user sees everything could not be told: %w", ctx.Err())
			out <- visibility{err, err}
		}
	}()
	return out
}

func (c *Cluster) lookAround(ctx context.Context) {
	v, err := c.proofs(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.visible.v = v
	c.visible.at = time.Time{}
	if err == nil {
		c.visible.at = c.env.Now()
	}
	close(c.visible.running)
	c.visible.running = nil
}

// proofs asks for the ACLs, for a topic that cannot exist, and for the user's rights on the cluster, side by side.
func (c *Cluster) proofs(ctx context.Context) (visibility, error) {
	var (
		p    proof
		errs [3]error
	)
	name := "offsetctl-" + rand.Text()
	each(3, func(i int) {
		switch i {
		case 0:
			p.acls, errs[i] = request[*kmsg.DescribeACLsResponse](ctx, c, bootNode, topicACLs())
		case 1:
			var r *kmsg.MetadataResponse
			if r, errs[i] = request[*kmsg.MetadataResponse](ctx, c, bootNode, metadataRequest([]string{name})); errs[i] == nil {
				p.denied = len(r.Topics) != 1 || r.Topics[0].ErrorCode == kerr.TopicAuthorizationFailed.Code
			}
		case 2:
			req := kmsg.NewPtrDescribeClusterRequest()
			req.IncludeClusterAuthorizedOperations = true
			var r *kmsg.DescribeClusterResponse
			if r, errs[i] = request[*kmsg.DescribeClusterResponse](ctx, c, bootNode, req); errs[i] == nil {
				p.cluster = r.ClusterAuthorizedOperations
			}
		}
	})
	if err := errors.Join(errs[:]...); err != nil {
		err = fmt.Errorf("whether this user sees everything could not be told: %w", err)
		return visibility{err, err}, err
	}
	v, ask := p.judge()
	if len(ask) == 0 {
		return v, nil
	}
	// These topics have ACLs of their own: only asked by name do they show whether they are hidden.
	r, err := request[*kmsg.MetadataResponse](ctx, c, bootNode, metadataRequest(ask))
	if err != nil {
		v.topics = fmt.Errorf("whether this user sees all topics could not be told: %w", err)
		return v, err
	}
	for i := range r.Topics {
		if r.Topics[i].ErrorCode == kerr.TopicAuthorizationFailed.Code {
			v.topics = fmt.Errorf("as far as this user may see: %w to describe all topics (%s is hidden)", offset.ErrDenied, deref(r.Topics[i].Topic))
			break
		}
	}
	return v, nil
}

func topicACLs() *kmsg.DescribeACLsRequest {
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType = kmsg.ACLResourceTypeTopic
	req.ResourcePatternType = kmsg.ACLResourcePatternTypeAny
	req.Operation = kmsg.ACLOperationAny
	req.PermissionType = kmsg.ACLPermissionTypeAny
	return req
}

// proof is what the three answers say.
type proof struct {
	acls    *kmsg.DescribeACLsResponse
	denied  bool  // a topic that does not exist may not be described
	cluster int32 // rights on the cluster, a bit each
}

var (
	errTopicsHidden = fmt.Errorf("as far as this user may see: topics without the right DESCRIBE are left out (%w)", offset.ErrDenied)
	errTopicsUntold = fmt.Errorf("as far as this user may see: a topic may be denied to it alone, and it may not read the ACLs that would tell (%w)", offset.ErrDenied)
	errTopicsPrefix = fmt.Errorf("as far as this user may see: ACLs on topic prefixes may hide topics from it (%w)", offset.ErrDenied)
	errGroupsHidden = fmt.Errorf("as far as this user may see: groups without the right DESCRIBE are left out; DESCRIBE on the cluster shows all (%w)", offset.ErrDenied)
)

// judge says what is proven, and which topics must be asked by name to settle the rest.
func (p proof) judge() (v visibility, ask []string) {
	if p.acls.ErrorCode == kerr.SecurityDisabled.Code {
		return visibility{}, nil
	}
	if p.cluster == noRights || p.cluster&(1<<kmsg.ACLOperationDescribe) == 0 {
		v.groups = errGroupsHidden
	}
	switch {
	case p.denied:
		v.topics = errTopicsHidden
		return v, nil
	case p.acls.ErrorCode != 0:
		v.topics = errTopicsUntold
		return v, nil
	}
	// With an ACL on all topics it is a right that shows the unknown topic, and only a DENY can hide another. Without one the
	// cluster may let everybody see what has no ACL, and then any ACL can hide.
	onAll := slices.ContainsFunc(p.acls.Resources, func(r kmsg.DescribeACLsResponseResource) bool {
		return r.ResourceName == "*" && r.ResourcePatternType == kmsg.ACLResourcePatternTypeLiteral
	})
	for _, r := range p.acls.Resources {
		denies := slices.ContainsFunc(r.ACLs, func(a kmsg.DescribeACLsResponseResourceACL) bool {
			return a.PermissionType == kmsg.ACLPermissionTypeDeny
		})
		if onAll && !denies || r.ResourceName == "*" {
			continue
		}
		if r.ResourcePatternType != kmsg.ACLResourcePatternTypeLiteral {
			v.topics = errTopicsPrefix
			return v, nil
		}
		ask = append(ask, r.ResourceName)
	}
	return v, ask
}

// noRights is what brokers answer where they were not asked for rights or do not tell them.
const noRights = -1 << 31
