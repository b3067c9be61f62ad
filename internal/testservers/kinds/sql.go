package kinds

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

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
	i.Addr["plain"] = addr
	i.Vars["dsn"] = "app:app-secret@tcp(" + addr + ")/test"
	i.Vars["root-dsn"] = root
	return statements(ctx, "mysql", root,
		"CREATE DATABASE test CHARACTER SET utf8mb4",
		"CREATE USER app@'%' IDENTIFIED BY 'app-secret'",
		"GRANT ALL ON test.* TO app@'%'",
	)
}

func startPostgres(ctx context.Context, i *machine.Instance) error {
	if err := i.Certificates(); err != nil {
		return err
	}
	key := i.Files["server-key"]
	if err := os.Chmod(key, 0o600); err != nil { // the server refuses a key that others may read
		return err
	}
	if err := machine.Chown(key, postgresUser); err != nil {
		return err
	}
	run, err := i.Mkdir(postgresUser, "run")
	if err != nil {
		return err
	}
	data, err := i.Mkdir(postgresUser, "data")
	if err != nil {
		return err
	}
	err = i.Exec(ctx, postgresUser, nil, filepath.Join(filepath.Dir(postgresServer.Path()), "initdb"),
		"-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(postgresAccess), 0o600); err != nil {
		return err
	}
	port, err := machine.Port()
	if err != nil {
		return err
	}
	addr := machine.Local(port)
	root := "postgres://postgres@" + addr + "/postgres?sslmode=disable"
	err = i.Run(ctx, machine.Node{
		Name: "server",
		User: postgresUser,
		Command: []string{
			postgresServer.Path(), "-D", data, "-p", fmt.Sprint(port), "-k", run,
			"-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=64MB", "-c", "max_connections=300",
			"-c", "ssl=on", "-c", "ssl_cert_file=" + i.Files["server-cert"], "-c", "ssl_key_file=" + key,
			"-c", "ssl_ca_file=" + i.Files["ca"],
		},
		Ready:      sqlAnswers("pgx", root),
		StopSignal: syscall.SIGINT, // "fast": SIGTERM would wait for clients
		Restarts:   5,              // after a kill the shared memory is free only when the last child has gone
	})
	if err != nil {
		return err
	}
	i.Addr["plain"] = addr
	i.Vars["dsn"] = "postgres://app:app-secret@" + addr + "/test?sslmode=disable"
	i.Vars["root-dsn"] = root
	return statements(ctx, "pgx", root,
		"CREATE USER app PASSWORD 'app-secret'",
		"CREATE DATABASE test OWNER app",
	)
}

// postgresAccess lets the superuser in without a password and everybody else
// with one, over TLS or not.
const postgresAccess = `local all postgres trust
host all postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
`

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
