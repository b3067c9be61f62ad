package sql

import (
	"context"
	"errors"
	"fmt"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/internal/sqldb"
	"github.com/offsetctl/offsetctl/offset"
)

// Names are bytes: on MySQL every text type takes some names for others. Metadata may hold what is no UTF-8.
// updated counts milliseconds since 1970; version changes with every write.
var create = map[sqldb.Dialect]string{
	sqldb.MySQL: ` (grp VARBINARY(1024) NOT NULL, topic VARBINARY(1024) NOT NULL, broker VARBINARY(1000) NOT NULL, part INT NOT NULL,
		off BIGINT NOT NULL, epoch INT NOT NULL, topic_id VARBINARY(64) NOT NULL, metadata VARBINARY(8192) NOT NULL, owner VARBINARY(1024) NOT NULL,
		version BIGINT NOT NULL, updated BIGINT NOT NULL, PRIMARY KEY (grp, topic, broker, part)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC`,
	sqldb.Postgres: ` (grp text COLLATE "C" NOT NULL, topic text COLLATE "C" NOT NULL, broker text COLLATE "C" NOT NULL, part integer NOT NULL,
		off bigint NOT NULL, epoch integer NOT NULL, topic_id text NOT NULL, metadata bytea NOT NULL, owner text NOT NULL,
		version bigint NOT NULL, updated bigint NOT NULL, PRIMARY KEY (grp, topic, broker, part))`,
	sqldb.SQLite: ` (grp BLOB NOT NULL, topic BLOB NOT NULL, broker BLOB NOT NULL, part INTEGER NOT NULL,
		off INTEGER NOT NULL, epoch INTEGER NOT NULL, topic_id TEXT NOT NULL, metadata BLOB NOT NULL, owner TEXT NOT NULL,
		version INTEGER NOT NULL, updated INTEGER NOT NULL, PRIMARY KEY (grp, topic, broker, part)) STRICT, WITHOUT ROWID`,
}

// Init creates our own table where it is not there yet, and the SQLite file with it.
func Init(ctx context.Context, env offset.Env, a address.Address) (string, error) {
	name, own, err := tableName(a)
	if err != nil {
		return "", err
	}
	if !own {
		return "", misfit("table %s with columns of its own is its job's to create; without topic=, partition= and offset= one of ours is made", name)
	}
	db, err := sqldb.Create(ctx, env, a)
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	t, err := db.Table(ctx, name)
	if err == nil {
		if _, err := lay(db.Dialect, a, t, true); err != nil {
			return "", db.Explain("looking at table "+name, err)
		}
		return fmt.Sprintf("Table %s is there already in %s.", name, db.Name()), nil
	}
	if !errors.Is(err, offset.ErrUnknownName) {
		return "", err
	}
	q := db.Build("CREATE TABLE IF NOT EXISTS ").Table(name).Add(create[db.Dialect])
	err = db.Tx(ctx, func(ctx context.Context, c *sqldb.Conn) error {
		_, err := c.Exec(ctx, q)
		return err
	}, func(ctx context.Context, _ *sqldb.Conn) (bool, error) {
		_, err := db.Table(ctx, name)
		return err == nil, nil
	})
	if err != nil {
		return "", db.Explain("creating table "+name, err)
	}
	return fmt.Sprintf("Table %s was created in %s.", name, db.Name()), nil
}
