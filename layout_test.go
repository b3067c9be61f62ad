package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/offsetctl/offsetctl/"

// mayImport is the direction of the packages: what each folder (and what lies below it) may import of the project.
// A folder may always import what lies below itself.
var mayImport = map[string][]string{
	"offset":            {},
	"offset/offsettest": {"offset"},
	"address":           {"offset"},
	"positions":         {"offset"},
	"stores/value":      {"offset"},
	"internal/sqldb":    {"offset", "address"},
	"internal/config":   {"offset", "address", "positions"},
	"internal/roster":   {},
	"internal/near":     {},
	"brokers":           {"offset", "address"},
	"stores":            {"offset", "address", "brokers", "internal/sqldb", "stores/value"},
	"inspect":           {"offset", "positions", "internal/near"},
	"repair":            {"offset", "positions", "inspect"},
	"internal/render":   {"offset", "inspect", "repair", "positions"},
	"demo":              {"offset", "address", "brokers", "stores", "inspect", "repair", "internal/sqldb"},
	"cmd":               {"offset", "address", "positions", "brokers", "stores", "inspect", "repair", "internal/render", "internal/config", "internal/roster", "internal/near", "demo"},
}

// free are folders that belong to the build and the tests: they may import anything.
var free = []string{".", "docs", "internal/testservers", "internal/gendocs", "internal/bench", "internal/bintest", "internal/e2e"}

// TestDirection holds the table above, and that nothing below the command line prints, exits, or reads the environment or the clock.
func TestDirection(t *testing.T) {
	for file, src := range sources(t) {
		dir := path.Dir(file)
		if under(dir, free) {
			continue
		}
		owner := owning(dir)
		if owner == "" {
			t.Errorf("%s: %s is not in the table of packages", file, dir)
			continue
		}
		for _, imp := range src.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			if p, ok := strings.CutPrefix(p, module); ok && !under(p, append([]string{owner, dir}, mayImport[owner]...)) {
				t.Errorf("%s imports %s, which %s may not", file, p, owner)
			}
		}
		if owner == "offset" {
			for _, imp := range src.Imports {
				if p, _ := strconv.Unquote(imp.Path.Value); strings.Contains(p, ".") {
					t.Errorf("%s imports %s: the domain has the standard library only", file, p)
				}
			}
		}
		if !under(dir, []string{"cmd"}) {
			for _, call := range forbidden(src) {
				t.Errorf("%s calls %s: only cmd may", file, call)
			}
		}
	}
}

// forbidden finds the calls that only the command line may make.
func forbidden(src *ast.File) (out []string) {
	bad := []string{"fmt.Print", "fmt.Printf", "fmt.Println", "os.Getenv", "os.LookupEnv", "os.Environ", "os.Exit", "time.Now", "time.Since", "time.Until",
		"log.Print", "log.Printf", "log.Println", "log.Fatal", "log.Fatalf", "os.Stdout", "os.Stderr", "os.Stdin", "slog.Default", "slog.Info", "slog.Warn", "slog.Error", "slog.Debug"}
	ast.Inspect(src, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && slices.Contains(bad, x.Name+"."+sel.Sel.Name) {
				out = append(out, x.Name+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return out
}

// owning is the longest entry of the table that dir lies in.
func owning(dir string) string {
	best := ""
	for d := range mayImport {
		if under(dir, []string{d}) && len(d) > len(best) {
			best = d
		}
	}
	return best
}

func under(dir string, roots []string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return dir == r || r != "." && strings.HasPrefix(dir, r+"/") })
}

// sources parses every file that is no test.
func sources(t *testing.T) map[string]*ast.File {
	out := map[string]*ast.File{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && p != "." {
			if d != nil && d.IsDir() && err == nil {
				return fs.SkipDir
			}
			return err
		}
		if strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") {
			f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			out[filepath.ToSlash(p)] = f
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
