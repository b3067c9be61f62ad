//go:build linux

package kinds

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/offsetctl/offsetctl/internal/testservers/machine"
)

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
