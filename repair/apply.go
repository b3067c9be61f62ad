package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

// Run is what a write needs. All of it comes from the command line, the clock too.
type Run struct {
	Broker  offset.Broker
	Store   offset.Store
	Own     bool // Store is the broker's own
	Journal *Journal

	Now      func() time.Time
	Wait     func(ctx context.Context, d time.Duration) error // sleeps; its error is ctx's
	Progress func(stage string, done, total int)              // may be nil

	Isolation offset.Isolation
	Origin    Origin        // who runs it, with the identities of the broker and the store in use
	Allowed   Allowed       // flags that overrule refusals
	Clamp     bool          // targets that retention has passed go to the log start
	Durable   bool          // wait until a store that keeps positions in memory for a while has written them to disk, and look again
	Settle    time.Duration // how far apart to look where the store does not know who consumes; 0: no look, and no proof
	Timeout   time.Duration // of each request to the store once writing has begun; 0: none. An interruption never cuts a write
}

// applying is one Apply under way.
type applying struct {
	*Run
	plan *Plan
	caps offset.Caps
	id   int64
	out  *Applied
	at   map[rowKey]int    // of a row its place in out.Outcomes
	said map[rowKey]Status // what the journal has of it
}

type rowKey struct {
	group string
	p     offset.Partition
}

// Apply writes p, which the user agreed to: it measures once more, writes the journal, the store, and looks at what is there.
//
// With a *Refused and no Applied nothing was sent. Otherwise Applied has what became of every row, and the error is its Err.
// Applying the same plan again goes on where it stopped: what is already there is left.
func (r *Run) Apply(ctx context.Context, p *Plan) (*Applied, error) {
	fresh, err := r.today(ctx, p)
	if err != nil {
		return nil, err
	}
	a := &applying{Run: r, plan: fresh, caps: r.Store.Caps(), at: map[rowKey]int{}, said: map[rowKey]Status{}}
	a.prepare()
	if fresh.Empty() {
		return a.out, nil
	}
	if err := a.idle(ctx); err != nil {
		return nil, err
	}
	if err := Objections(ctx, a.Store, a.plan, a.Allowed); err != nil {
		return nil, err
	}
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	a.write(ctx)
	a.readBack(ctx)
	a.lookAgain(ctx)
	a.end(ctx)
	return a.out, a.out.Err()
}

// today checks p against what is there now.
func (r *Run) today(ctx context.Context, p *Plan) (*Plan, error) {
	last := ""
	if !p.Empty() {
		var err error
		if last, err = r.Journal.LastCluster(ctx, r.Origin.Store); err != nil {
			return nil, journalRefused(err)
		}
	}
	sv, err := r.Look(ctx, p.Rows())
	if err != nil {
		return nil, fmt.Errorf("nothing was written: %w", err)
	}
	if err := Check(p, Today{Survey: sv, Broker: r.Origin.Broker, Store: r.Origin.Store, Remembered: last, Allowed: r.Allowed}); err != nil {
		return nil, err
	}
	fresh, err := Renew(p, sv, r.Clamp)
	if err != nil {
		return nil, err
	}
	if more := Wider(p, fresh); len(more) > 0 {
		return nil, refuse(CauseConsent, more[0], "plan again and agree to that")
	}
	return fresh, nil
}

func journalRefused(err error) error {
	return &Refused{[]Reason{{Cause: CauseJournal, Err: err, Text: err.Error(), Next: "nothing is written without a journal: make it writable, or name another one in the context"}}}
}

// prepare makes an outcome for every row.
func (a *applying) prepare() {
	a.out = &Applied{Once: a.plan.Once}
	for _, g := range a.plan.Groups {
		if g.Delete && len(g.Items) == 0 { // the group itself is the row
			a.at[rowKey{group: g.Name}] = len(a.out.Outcomes)
			a.out.Outcomes = append(a.out.Outcomes, Outcome{Group: g.Name})
		}
		for _, it := range g.Items {
			o := Outcome{Group: g.Name, Partition: it.Partition}
			if it.Action == Keep {
				now := it.From
				o.Status, o.Now = Unchanged, &now
				if it.there {
					o.Status = AlreadyThere
				}
			}
			a.at[rowKey{g.Name, it.Partition}] = len(a.out.Outcomes)
			a.out.Outcomes = append(a.out.Outcomes, o)
		}
	}
}

// idle looks twice where the store does not know who consumes: a job that runs moves its positions.
func (a *applying) idle(ctx context.Context) error {
	if a.caps.Members {
		return nil
	}
	a.out.Idle, a.out.Looked = true, max(0, a.Settle)
	if a.Settle <= 0 || !a.stored() {
		return nil
	}
	a.progress("waiting to see whether a job is running", 0, 0)
	if err := a.Wait(ctx, a.Settle); err != nil {
		return fmt.Errorf("interrupted, nothing was written: %w", err)
	}
	var reasons []Reason
	a.compare(ctx, func(g *Group, c offset.Change, now offset.Result[offset.Stored]) {
		r := Reason{Group: g.Name, Partition: &c.Partition}
		switch {
		case now.Err != nil:
			r.Cause, r.Err, r.Text = CauseUnknown, now.Err, fmt.Sprintf("%s: what is stored is not known: %v", c.Partition, now.Err)
			r.Next = "repeat when it can be measured"
		case !now.Value.Same(c.From) || now.Value.Version != c.From.Version:
			r.Cause, r.Err = CauseLive, offset.ErrLive
			r.Text = fmt.Sprintf("%s moved from %s to %s within %s: a job is running and would overwrite a reset", c.Partition, at(c.From), at(now.Value), a.Settle)
			r.Next = "stop it and repeat"
		default:
			return
		}
		reasons = append(reasons, r)
	})
	return refused(reasons)
}

func (a *applying) stored() bool {
	for it := range a.plan.items() {
		if it.From.State != offset.Absent {
			return true
		}
	}
	return false
}

// compare reads what every change of the plan finds now.
func (a *applying) compare(ctx context.Context, each func(*Group, offset.Change, offset.Result[offset.Stored])) {
	for i := range a.plan.Groups {
		g := &a.plan.Groups[i]
		cs := g.changes(a.caps.Whole)
		for j, now := range read(ctx, a.Store, g.Name, cs) {
			each(g, cs[j], now)
		}
	}
}

// read asks by name for what is stored where cs would write.
func read(ctx context.Context, s offset.Store, group string, cs []offset.Change) []offset.Result[offset.Stored] {
	q := offset.Query{Group: group}
	for _, c := range cs {
		q.Expect = append(q.Expect, c.Partition)
		if n := len(q.Topics); n == 0 || q.Topics[n-1] != c.Partition.Topic {
			q.Topics = append(q.Topics, c.Partition.Topic)
		}
	}
	an := s.Read(ctx, []offset.Query{q})[0]
	if an.Err != nil || len(an.Expected) != len(cs) {
		an.Expected = make([]offset.Result[offset.Stored], len(cs))
		for i := range an.Expected {
			an.Expected[i].Err = errors.Join(an.Err, errUnanswered(an.Err))
		}
	}
	return an.Expected
}

func errUnanswered(err error) error {
	if err == nil {
		return errors.New("the store did not answer")
	}
	return nil
}

// Objections asks a store what it knows to speak against p, before anything is written. The error is a *Refused.
func Objections(ctx context.Context, s offset.Store, p *Plan, allowed Allowed) error {
	guard, ok := s.(offset.Guarded)
	if !ok {
		return nil
	}
	whole := s.Caps().Whole
	var reasons []Reason
	for i := range p.Groups {
		g := &p.Groups[i]
		for _, o := range guard.Guard(ctx, g.Name, g.changes(whole)) {
			if o.Allow != "" && allowed.Has(o.Allow) {
				continue
			}
			r := Reason{Cause: CauseObjection, Group: g.Name, Text: o.Text, Allow: o.Allow}
			if o.Allow != "" {
				r.Next = "repeat with --" + o.Allow + " if that is meant"
			}
			reasons = append(reasons, r)
		}
	}
	return refused(reasons)
}

// begin writes what is about to happen into the journal. Nothing is sent before it lies on the disk.
func (a *applying) begin(ctx context.Context) error {
	b := beginLine{At: a.Now().UTC(), Kind: a.plan.Kind, Undoes: a.plan.Undoes, Origin: a.Origin, To: a.plan.To}
	b.Cluster = a.plan.Cluster
	if b.Reason == "" {
		b.Reason = a.plan.Reason
	}
	for i := range a.plan.Groups {
		g := &a.plan.Groups[i]
		eg := EntryGroup{Group: g.Name, Delete: g.Delete, Changes: g.changes(a.caps.Whole)}
		if len(eg.Changes) == 0 && !g.Delete {
			continue
		}
		if k, ok := a.Store.(offset.Keeper); ok {
			var err error
			if eg.Kept, err = k.Keep(ctx, g.Name, eg.Changes); err != nil {
				return fmt.Errorf("nothing was written: what is there could not be kept for an undo: %w", err)
			}
		}
		b.Groups = append(b.Groups, eg)
	}
	id, err := a.Journal.begin(ctx, b)
	if err != nil {
		return journalRefused(fmt.Errorf("journal %s: %w", a.Journal.Name(), err))
	}
	a.id, a.out.Journal = id, id
	return nil
}

// end records what became of everything, as far as the journal does not have it yet, and lets go of the entry.
func (a *applying) end(ctx context.Context) {
	ctx, cancel := a.detached(ctx)
	defer cancel()
	news := slices.DeleteFunc(slices.Clone(a.out.Outcomes), func(o Outcome) bool {
		s, ok := a.said[rowKey{o.Group, o.Partition}]
		return ok && s == o.Status
	})
	err := a.Journal.record(ctx, a.id, laterLine{At: a.Now().UTC(), Outcomes: news, End: true})
	a.out.JournalErr = errors.Join(a.out.JournalErr, err, a.Journal.log.Release(a.id))
}

// detached is a context that an interruption does not end, only the time limit of one step.
func (a *applying) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return a.detachedFor(ctx, 0)
}

// detachedFor is detached with a longer limit.
func (a *applying) detachedFor(ctx context.Context, longer time.Duration) (context.Context, context.CancelFunc) {
	ctx = context.WithoutCancel(ctx)
	if a.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, a.Timeout+longer)
}

func (a *applying) progress(stage string, done, total int) {
	if a.Progress != nil {
		a.Progress(stage, done, total)
	}
}
