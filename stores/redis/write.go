package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/offsetctl/offsetctl/offset"
)

// script compares every value, as a string (Lua's numbers lose digits above 2^53), and then writes all. Arguments: the type ("whole":
// hashes that must have no other fields), then for each change the number of its key, its field, what must be there ("absent", "=" and
// the value, "#" and its sum) and what is to be there ("-" for nothing, "=" and the value). It answers {1}, or {0} and what is there for
// each change. A key that is written does not expire: a position that vanishes is a job that begins anew.
var script = `
local hash, whole = ARGV[1] ~= 'string', ARGV[1] == 'whole'
local was, same, fields = {}, true, {}
for i = 2, #ARGV, 4 do
  local key = KEYS[tonumber(ARGV[i])]
  local v
  if hash then v = redis.call('HGET', key, ARGV[i+1]) else v = redis.call('GET', key) end
  local want, ok = ARGV[i+2], false
  if want == 'absent' then ok = v == false
  elseif v ~= false and want:sub(1, 1) == '=' then ok = want:sub(2) == v
  elseif v ~= false then ok = want:sub(2) == redis.sha1hex(v) end
  same = same and ok
  was[#was+1] = v
  fields[key] = (fields[key] or 0) + 2
end
for key, n in pairs(fields) do
  if whole and #redis.call('HGETALL', key) ~= n then same = false end
end
if not same then return {0, unpack(was)} end
for i = 2, #ARGV, 4 do
  local key, v = KEYS[tonumber(ARGV[i])], ARGV[i+3]
  if hash then
    if v == '-' then redis.call('HDEL', key, ARGV[i+1])
    else redis.call('HSET', key, ARGV[i+1], v:sub(2)); redis.pcall('PERSIST', key) end
  elseif v == '-' then redis.call('DEL', key)
  else redis.call('SET', key, v:sub(2)) end
end
return {1}`

// maxChanges of one script: Lua cannot return more values at a time than some thousands.
const maxChanges = 5000

// Write makes all changes of one slot by one script: all of a group, of a topic, or each alone, as Caps says.
func (s *Store) Write(ctx context.Context, group string, changes []offset.Change) []offset.Result[offset.Stored] {
	return s.write(ctx, group, changes, false)
}

// write makes the changes; whole: only where the hashes have no fields but theirs.
func (s *Store) write(ctx context.Context, group string, changes []offset.Change, whole bool) []offset.Result[offset.Stored] {
	out := make([]offset.Result[offset.Stored], len(changes))
	if len(changes) == 0 {
		return out
	}
	data := make([][]byte, len(changes)) // nil: delete
	for i, c := range changes {
		if out[i].Err = s.holds(group, c.Partition); out[i].Err == nil && c.To.State != offset.Absent {
			if data[i], out[i].Err = s.number.Bytes(c.From, c.To, 0); out[i].Err != nil {
				out[i].Err = fmt.Errorf("%s: %w", c.Partition, out[i].Err)
			} else if data[i] == nil {
				data[i] = []byte{}
			}
		}
	}
	if offset.Untouched(out) {
		return out
	}
	for _, b := range s.batches(group, changes) {
		b.data, b.whole = data[b.from:b.to], whole
		s.batch(ctx, group, changes[b.from:b.to], b, out[b.from:b.to])
	}
	return out
}

// batch is what one script does: changes from to to.
type batch struct {
	from, to int
	data     [][]byte
	whole    bool
}

func (s *Store) batches(group string, changes []offset.Change) (out []batch) {
	extent := s.together()
	for i := range changes {
		first := i == 0
		if !first && extent != offset.PerGroup {
			a, _ := s.keyOf(group, changes[i-1].Partition)
			b, _ := s.keyOf(group, changes[i].Partition)
			first = tag(a) != tag(b)
		}
		if first {
			out = append(out, batch{from: i})
		}
		out[len(out)-1].to = i + 1
	}
	return out
}

// batch writes and answers for its changes. Where the answer is lost, or comes out of the middle of the script, a look decides;
// where nothing was changed it is tried once more.
func (s *Store) batch(ctx context.Context, group string, changes []offset.Change, b batch, out []offset.Result[offset.Stored]) {
	if len(changes) > maxChanges {
		for i := range out {
			out[i].Err = fmt.Errorf("%d changes are %w: one script takes %d; write fewer partitions at a time", len(changes), offset.ErrTooLarge, maxChanges)
		}
		return
	}
	for n := 1; ; n++ {
		err := s.run(ctx, group, changes, b, out)
		if err == nil {
			return
		}
		switch {
		case unsent(err) && (n < tries && s.moved(ctx, err) || s.elected(ctx, err, n)):
		case unsent(err):
			err = s.explain("writing group "+group, err)
			for i := range out {
				out[i] = offset.Result[offset.Stored]{Err: err}
			}
			return
		case !s.decide(ctx, group, changes, b, out, err) || n >= tries || ctx.Err() != nil:
			return
		}
	}
}

// errNotSent: the caller gave up before the script was sent.
var errNotSent = errors.New("nothing was written")

// unsent tells that the script was not run, or stopped before it wrote.
func unsent(err error) bool {
	return errors.Is(err, errNotSent) || refused(err) ||
		hasPrefix(err, "NOAUTH", "WRONGPASS", "READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "NOREPLICAS", "MISCONF", "BUSY", "CROSSSLOT", "MOVED", "ASK", "TRYAGAIN")
}

// decide looks what became of a script without an answer, or one that stopped somewhere: Lua takes nothing back. It tells whether
// to try again: the connection was lost, and all is as it was.
func (s *Store) decide(ctx context.Context, group string, changes []offset.Change, b batch, out []offset.Result[offset.Stored], cause error) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	ps := make([]offset.Partition, len(changes))
	for i, c := range changes {
		ps[i] = c.Partition
	}
	a := s.Read(ctx, []offset.Query{{Group: group, Topics: []string{}, Expect: ps}})[0]
	before := 0
	for i, c := range changes {
		out[i] = a.Expected[i]
		switch v := a.Expected[i].Value.Version; {
		case a.Err != nil || a.Expected[i].Err != nil:
			out[i].Err = fmt.Errorf("%s %w: %w; looking again failed: %w", c.Partition, offset.ErrOutcome, cause, errors.Join(a.Err, a.Expected[i].Err))
		case v == s.stored(text(b.data[i])).Version:
		case v != c.From.Version:
			out[i].Err = offset.ErrMoved
		case lost(cause): // it may still be under way
			before++
			out[i].Err = fmt.Errorf("%s %w: %w", c.Partition, offset.ErrOutcome, cause)
		default:
			before++
			out[i].Err = s.explain("writing group "+group, cause)
		}
	}
	return lost(cause) && before == len(changes)
}

// run sends the script. Its error is of one whose outcome is not known, or that a server refused.
func (s *Store) run(ctx context.Context, group string, changes []offset.Change, b batch, out []offset.Result[offset.Stored]) error {
	kind := "hash"
	switch {
	case s.strings:
		kind = "string"
	case b.whole:
		kind = "whole"
	}
	var keys []string
	args := []any{kind}
	for i, c := range changes {
		key, field := s.keyOf(group, c.Partition)
		at := slices.Index(keys, key)
		if at < 0 {
			at, keys = len(keys), append(keys, key)
		}
		to := "-"
		if b.data[i] != nil {
			to = "=" + string(b.data[i])
		}
		args = append(args, strconv.Itoa(at+1), field, string(c.From.Version), to)
	}
	s.env.Call(s.name, "EVAL")
	if err := ctx.Err(); err != nil { // the last moment at which to give up
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	answer, err := s.eval(ctx, keys, args)
	var behind notReplicatedError
	if err != nil && !errors.As(err, &behind) {
		return err
	}
	if len(answer) == 1 {
		for i := range changes {
			out[i] = offset.Result[offset.Stored]{Value: s.stored(text(b.data[i]))}
			if err != nil {
				out[i].Err = err
			}
		}
		return nil
	}
	for i, c := range changes {
		var raw *string
		if v, ok := answer[i+1].(string); ok {
			raw = &v
		}
		out[i] = offset.Result[offset.Stored]{Value: s.stored(raw)}
		if out[i].Value.Version != c.From.Version {
			out[i].Err = offset.ErrMoved
		}
	}
	if !offset.Untouched(out) { // none has moved, and yet nothing was written
		for i := range out {
			out[i].Err = fmt.Errorf("%w: its key has another field by now", offset.ErrMoved)
		}
	}
	return nil
}

func text(b []byte) *string {
	if b == nil {
		return nil
	}
	s := string(b)
	return &s
}

// eval runs the script, and waits for replicas on the same connection where that is wanted: another one's WAIT proves nothing.
func (s *Store) eval(ctx context.Context, keys []string, args []any) ([]any, error) {
	c, ok := s.UniversalClient.(*redis.Client)
	if s.replicas == 0 || !ok {
		return s.Eval(ctx, script, keys, args...).Slice()
	}
	one := c.Conn()
	defer func() { _ = one.Close() }()
	answer, err := one.Eval(ctx, script, keys, args...).Slice()
	if err != nil || len(answer) > 1 {
		return answer, err
	}
	s.env.Call(s.name, "WAIT")
	n, err := one.Wait(ctx, s.replicas, time.Second).Result()
	if err != nil || int(n) < s.replicas {
		return answer, notReplicatedError{n, s.replicas, err}
	}
	return answer, nil
}

// notReplicatedError: it is written on the master, and a failover may lose it.
type notReplicatedError struct {
	have int64
	want int
	err  error
}

func (e notReplicatedError) Error() string {
	if e.err != nil {
		return fmt.Sprintf("written, and not known on how many replicas: %v", e.err)
	}
	return fmt.Sprintf("written, and only %d of %d replicas have it: a failover may lose it", e.have, e.want)
}

func (e notReplicatedError) Unwrap() []error { return []error{offset.ErrOutcome, offset.ErrVolatile} }
