package sqldb

import (
	"database/sql"
	"net"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/offsetctl/offsetctl/address"
)

func postgresOpening(a address.Address) (opening, error) {
	if err := login(a); err != nil {
		return opening{}, err
	}
	secure, err := serverTLS(a)
	if err != nil {
		return opening{}, err
	}
	return opening{Postgres, serverKey(a), serverName(a), secure != nil, func() (*sql.DB, error) {
		host, port, err := net.SplitHostPort(a.Hosts[0])
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, err
		}
		// What the driver takes from PG* variables and files is replaced: the address alone decides.
		c, err := pgx.ParseConfig("host=localhost user=none dbname=none sslmode=disable target_session_attrs=any passfile=/dev/null")
		if err != nil {
			return nil, err
		}
		c.Host, c.Port, c.Database, c.User, c.Password = host, uint16(n), a.Path, a.Get("user"), a.Get("password")
		c.TLSConfig, c.Fallbacks = secure, nil
		c.RuntimeParams = map[string]string{"application_name": "offsetctl"}
		// One round trip a statement, and nothing kept on a connection that a pooler may have given to somebody else.
		c.DefaultQueryExecMode = pgx.QueryExecModeExec
		return stdlib.OpenDB(*c), nil
	}}, nil
}

func postgresClass(code string) class {
	switch code {
	case "40001", "40P01":
		return collided
	case "55P03":
		return locked
	case "23505":
		return exists
	case "42501", "28P01", "28000":
		return denied
	case "25006":
		return readOnly
	case "3D000":
		return noDatabase
	case "42P01", "3F000":
		return noTable
	case "42703":
		return noColumn
	case "22003", "22001", "22021", "22P02", "22P05", "54000", "23502", "23514", "42804", "42883":
		return unfit
	case "53300":
		return crowded
	case "57P01", "57P02":
		return lost
	case "57P03":
		return starting
	case "53100":
		return full
	case "57014":
		return cancelled
	}
	return refused
}
