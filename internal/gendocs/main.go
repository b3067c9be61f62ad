// Command gendocs writes the pages of docs/ that are made from the program itself: one a command, and the exit codes.
package main

import (
	"fmt"
	"os"

	"github.com/offsetctl/offsetctl/cmd"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendocs DIR")
		os.Exit(2)
	}
	if err := cmd.WriteDocs(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
