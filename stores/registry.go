// Package stores is the table of every place where positions can be kept.
package stores

import (
	"context"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/file"
	"github.com/offsetctl/offsetctl/stores/hbase"
	"github.com/offsetctl/offsetctl/stores/redis"
	"github.com/offsetctl/offsetctl/stores/sql"
	"github.com/offsetctl/offsetctl/stores/zookeeper"
)

// Driver is one kind of store. Docs and help texts are made from it.
type Driver struct {
	address.Form
	Title string // "SQL table"
	Open  func(ctx context.Context, env offset.Env, a address.Address) (offset.Store, error)
	// Init creates what the store needs (a table, a family, a node) and says in one sentence what it did; nil: nothing is needed.
	Init func(ctx context.Context, env offset.Env, a address.Address) (string, error)
}

// Drivers lists every store besides the brokers' own, in the order of the documentation.
var Drivers = []Driver{
	{Form: zookeeper.Form, Title: "ZooKeeper", Open: zookeeper.Open, Init: zookeeper.Init},
	{Form: sql.MySQLForm, Title: "MySQL or MariaDB table", Open: sql.Open, Init: sql.Init},
	{Form: sql.PostgresForm, Title: "PostgreSQL table", Open: sql.Open, Init: sql.Init},
	{Form: sql.SQLiteForm, Title: "SQLite table", Open: sql.Open, Init: sql.Init},
	{Form: redis.Form, Title: "Redis", Open: redis.Open},
	{Form: file.Form, Title: "JSON file", Open: file.Open, Init: file.Init},
	{Form: hbase.Form, Title: "HBase row", Open: hbase.Open, Init: hbase.Init},
}
