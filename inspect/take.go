package inspect

import (
	"context"
	"errors"

	"github.com/offsetctl/offsetctl/offset"
)

// ErrNotAsked stands where a partition was not selected, so nobody asked for its bounds.
var ErrNotAsked = errors.New("was not asked about")

// Take gathers what a asks for, in stages whose calls run side by side. own: s is the broker's own store.
//
// Everything that was asked about is in the survey with an answer or an error of its own, also when ctx ends on the way.
// Take's error is one of the whole: broker or store cannot be reached, or a topic that was named does not exist and no group
// has anything stored for it (ErrUnknownName).
func Take(ctx context.Context, b offset.Broker, s offset.Store, own bool, a Ask) (*Survey, error) {
	t := &taking{ask: a, broker: b, store: s, sv: &Survey{Ask: a, Taken: a.Now, Caps: s.Caps(), Own: own}}
	if err := t.run(ctx); err != nil {
		return nil, err
	}
	return t.sv, nil
}

// taking is one Take under way.
type taking struct {
	ask    Ask
	broker offset.Broker
	store  offset.Store
	sv     *Survey

	groups []string // sorted
	spans  []span   // every topic that matters, sorted
	named  []int    // of spans that are asked of each group
	logs   []logState
	looks  []look // beside sv.Lines
	counts []int  // lines of each group
}

func (t *taking) run(ctx context.Context) error {
	t.stage("topics and groups", 0)
	top := start(func() (offset.Topology, error) { return t.broker.Topology(ctx, t.ask.Topics) })
	if err := t.listGroups(ctx); err != nil {
		_, _ = top()
		return err
	}
	described := start(func() ([]offset.Result[offset.Group], error) { return t.broker.Describe(ctx, t.groups), nil })
	var answers func() ([]offset.Answer, error)
	if !t.byName() {
		answers = start(func() ([]offset.Answer, error) { return t.store.Read(ctx, t.queries(nil)), nil })
	}
	topology, err := top()
	if err != nil {
		_, _ = described()
		return err
	}
	t.sv.Topology = topology
	t.stage("positions", len(t.groups))
	if answers == nil {
		t.askedTopics()
		answers = t.boundsBesidePositions(ctx)
	}
	got, _ := answers()
	if err := t.wholeFailure(got); err != nil {
		_, _ = described()
		return err
	}
	if err := t.assemble(ctx, got); err != nil {
		_, _ = described()
		return err
	}
	t.lookAgain(ctx)
	groups, _ := described()
	t.finish(ctx, got, groups)
	return nil
}

// byName: the topics are known beforehand, so positions are asked by name in the same trip as the bounds. A store elsewhere can
// be asked at once, beside the topics.
func (t *taking) byName() bool { return t.sv.Own && (t.ask.Topics != nil || t.ask.AllTopics) }

func (t *taking) stage(name string, total int) {
	if t.ask.Progress != nil {
		t.ask.Progress(name, 0, total)
	}
}

func (t *taking) listGroups(ctx context.Context) error {
	t.groups = t.ask.Groups
	if t.groups != nil {
		return nil
	}
	names, gaps, err := t.store.Groups(ctx)
	t.groups, t.sv.Gaps = names, gaps
	return err
}

// queries asks every group for what it has stored, and for expect by name.
func (t *taking) queries(expect []offset.Partition) []offset.Query {
	qs := make([]offset.Query, len(t.groups))
	for i, g := range t.groups {
		qs[i] = offset.Query{Group: g, Topics: t.ask.Topics, Expect: expect}
	}
	return qs
}

// wholeFailure: a store elsewhere that answers for no group at all cannot be reached or is not what it should be, and a broker
// that denies every group has denied the question.
func (t *taking) wholeFailure(answers []offset.Answer) error {
	if len(answers) == 0 {
		return nil
	}
	for _, a := range answers {
		if err := nothingSaid(a); err == nil || t.sv.Own && !errors.Is(err, offset.ErrDenied) {
			return nil
		}
	}
	return nothingSaid(answers[0])
}

// nothingSaid is the error of an answer that has nothing else: of the whole, or the denials of all servers that it comes from.
func nothingSaid(a offset.Answer) error {
	if a.Err != nil || len(a.Others) > 0 || len(a.Gaps) == 0 {
		return a.Err
	}
	for _, g := range a.Gaps {
		if !errors.Is(g, offset.ErrDenied) {
			return nil
		}
	}
	for _, r := range a.Expected {
		if !errors.Is(r.Err, offset.ErrDenied) {
			return nil
		}
	}
	return a.Gaps[0]
}

// assemble turns the first answers into lines, and asks what is still open in one more trip.
func (t *taking) assemble(ctx context.Context, answers []offset.Answer) error {
	byName := t.byName()
	if !byName {
		t.askedTopics()
	}
	t.mentionedTopics(ctx, answers)
	if err := t.makeLines(ctx, answers); err != nil {
		return err
	}
	if byName {
		t.spread(allLogs)
		return nil
	}
	t.stage("bounds", len(t.logs))
	second := t.startSecondRead(ctx)
	keep := t.startRetention(ctx)
	t.wantAtOnce()
	t.askLogs(ctx, t.everyLog())
	keep()
	second()
	t.spread(allLogs)
	return nil
}

// boundsBesidePositions asks for both in one trip. The bounds are there when it returns, the positions when its answer is called.
func (t *taking) boundsBesidePositions(ctx context.Context) func() ([]offset.Answer, error) {
	read := start(func() ([]offset.Answer, error) { return t.store.Read(ctx, t.queries(t.expectations())), nil })
	keep := t.startRetention(ctx)
	t.askLogs(ctx, t.everyLog())
	keep()
	return read
}

// start runs f on its own and answers what waits for it.
func start[T any](f func() (T, error)) func() (T, error) {
	type answer struct {
		v   T
		err error
	}
	c := make(chan answer, 1)
	go func() {
		v, err := f()
		c <- answer{v, err}
	}()
	return func() (T, error) {
		a := <-c
		return a.v, a.err
	}
}
