// Package hbase keeps positions in the rows of an HBase table, as Spark jobs do: row app|group|topic, a column for each partition,
// value from|until.
package hbase

import (
	"context"
	"fmt"
	"os/user"
	"path"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/hbase/hrpc"
	"github.com/offsetctl/offsetctl/stores/value"
)

// Form is how the address of an HBase table looks.
var Form = address.Form{
	Schemes: []string{"hbase"},
	Example: "hbase://zk1:2181,zk2:2181/TABLE?app=APP&family=t",
	Port:    2181,
	Many:    true,
	Path:    true,
	Options: []address.Option{
		{Name: "app", Value: "NAME", Help: "first part of the row key app|group|topic; without it rows are group|topic"},
		{Name: "family", Value: "NAME", Help: "column family that holds the partitions; t where it is not given"},
		{Name: "registry", Value: "zookeeper|rpc", Help: "what the hosts are: ZooKeeper where it is not given; rpc: HBase's masters, from 2.4 on (then each host has its port, 16000)"},
		{Name: "parent", Value: "NODE", Help: "HBase's node in ZooKeeper (zookeeper.znode.parent); /hbase where it is not given"},
		{Name: "user", Value: "NAME", Help: "who HBase is told that asks; the operating system's user where it is not given"},
		{Name: "encoding", Value: "text|long|int", Help: "how new values are written, and what a value is that could be text or an integer; text where it is not given (from|until)"},
		{Name: "value", Value: "next|last", Help: "whether the number is the next offset to read or the last one done; next where it is not given"},
	},
}

// Store is a family of a table. Positions of one topic are in one row and change together, from HBase 2.4 on.
type Store struct {
	client  client
	family  string
	layout  layout
	dialect value.Dialect
	now     func() time.Time
	pause   func(ctx context.Context, d time.Duration)
	look    time.Duration // for looking what is there after the caller's time is up

	cellwise atomic.Bool // the servers take no condition over several columns
}

// Open finds the cluster. A table or family that is missing is said by the first Read.
func Open(ctx context.Context, env offset.Env, a address.Address) (offset.Store, error) {
	s, config, err := configure(env, a)
	if err != nil {
		return nil, err
	}
	c, err := hrpc.Open(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a, err)
	}
	s.use(c)
	return s, nil
}

// Init creates the namespace, table and family, whatever of it is missing.
func Init(ctx context.Context, env offset.Env, a address.Address) (string, error) {
	_, config, err := configure(env, a)
	if err != nil {
		return "", err
	}
	c, err := hrpc.Open(ctx, config)
	if err != nil {
		return "", fmt.Errorf("%s: %w", a, err)
	}
	defer func() { _ = c.Close() }()
	made, err := c.Create(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", a, err)
	}
	if len(made) == 0 {
		return fmt.Sprintf("HBase table %s with family %s was there already; nothing was changed", config.Table, config.Family), nil
	}
	return "created in HBase: " + strings.Join(made, ", "), nil
}

// configure reads the address; nothing is contacted.
func configure(env offset.Env, a address.Address) (*Store, hrpc.Config, error) {
	config := hrpc.Config{
		Hosts: a.Hosts, Table: a.Path, Family: or(a.Get("family"), "t"),
		Parent: path.Clean("/" + or(a.Get("parent"), "/hbase")),
		User:   or(a.Get("user"), systemUser()), Log: env.Log, Trace: env.Call,
	}
	fail := func(format string, args ...any) (*Store, hrpc.Config, error) {
		return nil, config, offset.As(offset.ErrConfig, fmt.Errorf("%s: %s", a, fmt.Sprintf(format, args...)))
	}
	if !isTable(config.Table) {
		return fail("the table's name is missing or is none (TABLE, or NAMESPACE:TABLE, of letters, digits, _, - and .)")
	}
	switch a.Get("registry") {
	case "", "zookeeper":
	case "rpc":
		config.Masters = true
	default:
		return fail("option registry is %q: it is zookeeper or rpc", a.Get("registry"))
	}
	dialect, err := dialectOf(a.Get("encoding"), a.Get("value"))
	if err != nil {
		return fail("%v", err)
	}
	return &Store{family: config.Family, layout: layout{app: a.Get("app")}, dialect: dialect, now: env.Now, pause: sleep, look: lookTime}, config, nil
}

// isTable leaves the letters of other alphabets to HBase.
func isTable(name string) bool {
	namespace, table, ok := strings.Cut(name, ":")
	if !ok {
		namespace, table = "default", name
	}
	return isName(namespace, "_") && isName(table, "_-.") && !strings.ContainsRune("-.", rune(table[0]))
}

func isName(s, marks string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(marks, r)
	})
}

func dialectOf(encoding, kept string) (value.Dialect, error) {
	d := value.Dialect{Accept: value.Text | value.Range | value.Int32 | value.Int64}
	switch encoding {
	case "":
		d.New = value.Range
	case "text":
		d.Accept, d.New = value.Text|value.Range, value.Range
	case "long":
		d.New = value.Int64
	case "int":
		d.New = value.Int32
	default:
		return d, fmt.Errorf("option encoding is %q: it is text, long or int", encoding)
	}
	switch kept {
	case "", "next":
	case "last":
		d.Last = true
	default:
		return d, fmt.Errorf("option value is %q: it is next or last", kept)
	}
	return d, nil
}

func (s *Store) use(c client) {
	s.client = c
	s.cellwise.Store(!c.Filters())
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// systemUser is who HBase is told that asks. It believes anybody; what the name may do, its own access control decides.
func systemUser() string {
	u, err := user.Current()
	if err != nil {
		return "offsetctl"
	}
	return u.Username
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// Caps is what the layout and the servers' version allow. Values are compared, so writing the same number again is no new version.
func (s *Store) Caps() offset.Caps {
	c := offset.Caps{Atomic: true, Together: offset.PerTopic, Delete: true, CommitTime: true, Queues: true}
	if s.cellwise.Load() {
		c.Together = offset.EachAlone
	}
	return c
}

// Close ends the connections.
func (s *Store) Close() error { return s.client.Close() }

var (
	_ offset.Store  = (*Store)(nil)
	_ offset.Warner = (*Store)(nil)
	_ client        = (*hrpc.Client)(nil)
)
