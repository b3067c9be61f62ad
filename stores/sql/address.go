// Package sql keeps positions in a table of MySQL, MariaDB, PostgreSQL or SQLite: in our own, or in one that a job made.
package sql

import (
	"github.com/offsetctl/offsetctl/address"
)

// Forms are the addresses of the three kinds of database.
var (
	MySQLForm = address.Form{
		Schemes: []string{"mysql", "mariadb"}, Example: "mysql://USER@host:3306/DATABASE?password=env:NAME",
		Port: 3306, Path: true, User: true, TLS: true, Options: options,
	}
	PostgresForm = address.Form{
		Schemes: []string{"postgres", "postgresql"}, Example: "postgres://USER@host:5432/DATABASE?password=env:NAME",
		Port: 5432, Path: true, User: true, TLS: true, Options: options,
	}
	SQLiteForm = address.Form{
		Schemes: []string{"sqlite"}, Example: "sqlite:FILE", Opaque: true, Options: options,
	}
)

// OwnTable is our own table's name where the address names none.
const OwnTable = "offsetctl_offsets"

var options = []address.Option{
	{Name: "table", Value: "[SCHEMA.]TABLE", Help: "the table; without topic= it is one of our own that \"store init\" made (" + OwnTable + " unless named)"},
	{Name: "topic", Value: "COLUMN", Help: "of a job's own table: the column with the topic"},
	{Name: "partition", Value: "COLUMN", Help: "of a job's own table: the column with the partition or queue number"},
	{Name: "offset", Value: "COLUMN", Help: "of a job's own table: the column with the position"},
	{Name: "group", Value: "COLUMN", Help: "of a job's own table: the column with the group; without one the table is one group, which -g only names"},
	{Name: "broker", Value: "COLUMN", Help: "of a job's own table: the column with RocketMQ's broker name; without one no queues can be kept"},
	{Name: "value", Value: "next|last", Help: "of a job's own table: whether the number is the next offset to read (the default) or the last one done"},
}
