package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/offsetctl/offsetctl/offset"
)

var _ offset.Permitter = (*Store)(nil)

// mayScript asks the server which commands its user may run on the key: arguments are pairs of a command and how many arguments it
// has beside the key. It runs none of them. -1: a server before 7.0 cannot tell.
const mayScript = `
local may = {}
for i = 1, #ARGV, 2 do
  local call = {ARGV[i], KEYS[1]}
  for n = 1, tonumber(ARGV[i+1]) do call[#call+1] = '0' end
  if not redis.acl_check_cmd then may[#may+1] = -1
  elseif redis.acl_check_cmd(unpack(call)) then may[#may+1] = 1
  else may[#may+1] = 0 end
end
return may`

// command is what a write does, and how many arguments it has beside the key.
type command struct {
	name, only string
	args       int
}

const absence = "making positions absent and groups delete"

var (
	hashCommands   = []command{{"HGET", "", 1}, {"HSET", "", 2}, {"HGETALL", "", 0}, {"HDEL", absence, 1}, {"PERSIST", "taking an expiry off", 0}}
	stringCommands = []command{{"GET", "", 0}, {"SET", "", 1}, {"DEL", absence, 0}}
)

var errTooOld = errors.New("a Redis before 7.0 cannot be asked what its user may; only doing it tells")

// Permissions tries what reading does, and asks the server for the commands of a write without running them.
func (s *Store) Permissions(ctx context.Context, group string, topics []string, write bool) []offset.Permission {
	scan := offset.Permission{Right: "SCAN", Only: "groups and topics that are not named"}
	if s.strings {
		scan.Only = ""
	}
	keys, err := s.rightKeys(ctx, group, topics)
	scan.Granted, scan.Err = s.granted("listing keys", err)
	out := []offset.Permission{scan}
	for _, key := range keys {
		out = append(out, s.mayRead(ctx, key)...)
		if write {
			out = append(out, s.mayWrite(ctx, key)...)
		}
	}
	return out
}

// rightKeys tries to list keys, and answers the group's: of topics that are named one each, whether it is there or not.
func (s *Store) rightKeys(ctx context.Context, group string, topics []string) (keys []string, err error) {
	for _, t := range topics {
		if p := (offset.Partition{Topic: t}); s.holds(group, p) == nil {
			key, _ := s.keyOf(group, p)
			keys = append(keys, key)
		}
	}
	if group != "" && len(topics) == 0 {
		keys, err = s.scan(ctx, &group)
		return keys, err
	}
	return keys, s.eachNode(ctx, func(ctx context.Context, node redis.Cmdable) error {
		return s.read(ctx, "SCAN", func() error { return node.Scan(ctx, 0, "*", 1).Err() })
	})
}

// granted tells from the error of a trial whether it is permitted.
func (s *Store) granted(doing string, err error) (bool, error) {
	err = s.explain(doing, err)
	if errors.Is(err, offset.ErrDenied) {
		return false, nil
	}
	return err == nil, err
}

func (s *Store) mayRead(ctx context.Context, key string) []offset.Permission {
	reading, name := func() error { return s.HGetAll(ctx, key).Err() }, "HGETALL"
	if s.strings {
		reading, name = func() error { return s.Get(ctx, key).Err() }, "GET"
	}
	out := []offset.Permission{{Right: fmt.Sprintf("key %q: %s", key, name)}, {Right: fmt.Sprintf("key %q: PTTL", key), Only: "noticing that positions expire"}}
	err := s.read(ctx, name, reading)
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	out[0].Granted, out[0].Err = s.granted("reading "+key, err)
	out[1].Granted, out[1].Err = s.granted("asking when "+key+" expires", s.read(ctx, "PTTL", func() error { return s.PTTL(ctx, key).Err() }))
	return out
}

// mayWrite asks for what a write needs, and for what only something else needs.
func (s *Store) mayWrite(ctx context.Context, key string) []offset.Permission {
	commands := hashCommands
	if s.strings {
		commands = stringCommands
	}
	var args []any
	for _, c := range commands {
		args = append(args, c.name, c.args)
	}
	var may []int64
	err := s.read(ctx, "EVAL", func() (err error) {
		may, err = s.Eval(ctx, mayScript, []string{key}, args...).Int64Slice()
		return err
	})
	if granted, err := s.granted("asking for rights on "+key, err); !granted {
		return []offset.Permission{{Right: fmt.Sprintf("key %q: EVAL", key), Err: err}}
	}
	return answers(key, commands, may)
}

// answers is one line for what may be done, one for each command that may not, and one for each that only something else needs.
func answers(key string, commands []command, may []int64) []offset.Permission {
	if slices.Contains(may, -1) {
		return []offset.Permission{{Right: fmt.Sprintf("key %q: EVAL with the commands of a write", key), Err: errTooOld}}
	}
	granted := []string{"EVAL"}
	var out []offset.Permission
	for i, c := range commands {
		p := offset.Permission{Right: fmt.Sprintf("key %q: %s", key, c.name), Only: c.only, Granted: may[i] == 1}
		if p.Granted && c.only == "" {
			granted = append(granted, c.name)
		} else {
			out = append(out, p)
		}
	}
	main := offset.Permission{Right: fmt.Sprintf("key %q: %s", key, strings.Join(granted, ", ")), Granted: true}
	return append([]offset.Permission{main}, out...)
}
