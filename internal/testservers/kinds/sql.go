//go:build linux

package kinds

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"

	_ "github.com/go-sql-driver/mysql" // drivers for the readiness checks and the first statements
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/offsetctl/offsetctl/internal/testservers/artifacts"
	"github.com/offsetctl/offsetctl/internal/testservers/machine"
)

var (
	mariadbServer  = artifacts.Package{Name: "mariadb-server", Program: "mariadbd"}
	mariadbInstall = artifacts.Package{Name: "mariadb-server", Program: "mariadb-install-db"}
	postgresServer = artifacts.Package{Name: "postgresql", Program: "postgres"}
)

func sqlKinds() []Kind {
	return []Kind{
		{
			Name: "mariadb", Version: "10.11", Memory: 200,
			Needs: []artifacts.Item{mariadbServer, mariadbInstall}, Start: startMariaDB,
		},
		{
			Name: "postgres", Version: "15", Memory: 150,
			Needs: []artifacts.Item{postgresServer}, Start: startPostgres,
		},
		{
			Name: "mysql8", Version: "8.0.33", Memory: 400,
			Needs: []artifacts.Item{java, maven, mariadbServer, libaio, libnuma, mysqlFiles}, Start: startMySQL,
		},
	}
}

// Both servers refuse to run as root and come with a user of their own.
const (
	mariadbUser  = "mysql"
	postgresUser = "postgres"
)

func startMariaDB(ctx context.Context, i *machine.Instance) error {
	if err := i.Certificates(); err != nil {
		return err
	}
	run, err := i.Mkdir(mariadbUser, "run")
	if err != nil {
		return err
	}
	data, err := i.Mkdir(mariadbUser, "data")
	if err != nil {
		return err
	}
	err = i.Exec(ctx, mariadbUser, nil, mariadbInstall.Path(), "--no-defaults", "--datadir="+data, "--skip-test-db",
		"--auth-root-authentication-method=normal", "--skip-name-resolve", "--innodb-log-file-size=16M")
	if err != nil {
		return err
	}
	port, err := machine.Port()
	if err != nil {
		return err
	}
	addr := machine.Local(port)
	root := "root@tcp(" + addr + ")/"
	err = i.Run(ctx, machine.Node{
		Name: "server",
		User: mariadbUser,
		Command: []string{
			mariadbServer.Path(), "--no-defaults", "--datadir=" + data,
			"--socket=" + filepath.Join(run, "m.sock"), "--pid-file=" + filepath.Join(run, "m.pid"),
			fmt.Sprintf("--port=%d", port), "--bind-address=127.0.0.1", "--skip-name-resolve",
			"--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M", "--performance-schema=OFF",
			"--local-infile=1", "--max-allowed-packet=64M", "--max-connections=500",
			"--ssl-ca=" + i.Files["ca"], "--ssl-cert=" + i.Files["server-cert"], "--ssl-key=" + i.Files["server-key"],
		},
		Ready: sqlAnswers("mysql", root),
	})
	if err != nil {
		return err
	}
	return mysqlDatabase(ctx, i, addr, root)
}

// mysqlDatabase makes the tests' database and its user, and says where they are.
func mysqlDatabase(ctx context.Context, i *machine.Instance, addr, root string) error {
	i.Addr["plain"] = addr
	i.Vars["dsn"] = "app:app-secret@tcp(" + addr + ")/test"
	i.Vars["root-dsn"] = root
	return statements(ctx, "mysql", root,
		"CREATE DATABASE test CHARACTER SET utf8mb4",
		"CREATE USER app@'%' IDENTIFIED BY 'app-secret'",
		"GRANT ALL ON test.* TO app@'%'",
	)
}

func sqlAnswers(driver, dsn string) func(context.Context) error {
	return func(ctx context.Context) error {
		db, err := sql.Open(driver, dsn)
		if err != nil {
			return err
		}
		defer db.Close()
		return db.PingContext(ctx)
	}
}

func statements(ctx context.Context, driver, dsn string, lines ...string) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, line := range lines {
		if _, err := db.ExecContext(ctx, line); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	return nil
}
