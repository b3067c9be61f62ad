package sqldb

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"strconv"

	"github.com/go-sql-driver/mysql"

	"github.com/offsetctl/offsetctl/address"
)

func mysqlOpening(a address.Address) (opening, error) {
	if err := login(a); err != nil {
		return opening{}, err
	}
	secure, err := serverTLS(a)
	if err != nil {
		return opening{}, err
	}
	return opening{MySQL, serverKey(a), serverName(a), secure != nil, func() (*sql.DB, error) {
		c := mysql.NewConfig()
		c.Net, c.Addr, c.DBName = "tcp", a.Hosts[0], a.Path
		c.User, c.Passwd = a.Get("user"), a.Get("password")
		c.TLS = secure
		c.AllowCleartextPasswords = secure != nil
		c.Logger = &mysql.NopLogger{} // it would print
		c.ClientFoundRows = true      // rows matched, also where nothing changes
		c.InterpolateParams = true    // one round trip a statement
		c.Params = map[string]string{
			"sql_mode":                 "'STRICT_ALL_TABLES'", // a number that does not fit is refused, not clamped
			"innodb_lock_wait_timeout": strconv.Itoa(int(lockWait.Seconds())),
			"lock_wait_timeout":        "10", // for a table that is being altered
		}
		k, err := mysql.NewConnector(c)
		if err != nil {
			return nil, err
		}
		return sql.OpenDB(readCommitted{k}), nil
	}}, nil
}

func serverTLS(a address.Address) (*tls.Config, error) {
	c, err := a.TLS()
	if err != nil {
		return nil, configError(serverName(a), err)
	}
	if c != nil && c.ServerName == "" {
		c.ServerName, _, _ = net.SplitHostPort(a.Hosts[0])
	}
	return c, nil
}

// readCommitted makes connections without gap locks: two who create neighbouring rows do not deadlock. The variable has
// different names on the two servers, the statement has not.
type readCommitted struct{ driver.Connector }

func (r readCommitted) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	e, ok := c.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("the MySQL driver runs no statements"), c.Close())
	}
	if _, err := e.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func mysqlClass(n uint16) class {
	switch n {
	case 1213, 1020: // deadlock; MariaDB: the row changed since the transaction's snapshot
		return collided
	case 1205, 3572:
		return locked
	case 1062, 1586:
		return exists
	case 1045, 1044, 1142, 1143, 1227, 1698, 1130, 1820, 1862, 3118:
		return denied
	case 1290, 1792, 1836:
		return readOnly
	case 1049:
		return noDatabase
	case 1146, 1109:
		return noTable
	case 1054:
		return noColumn
	case 1264, 1406, 1366, 1265, 1292, 1300, 1267, 1071, 3988, 4025, 3819, 1048, 1364:
		return unfit
	case 1040, 1203, 1226:
		return crowded
	case 1053, 1077, 1079, 1080:
		return starting
	case 1021, 1114:
		return full
	case 1317, 3024, 1969:
		return cancelled
	}
	return refused
}
