// Command offsetctl shows where stream consumers stand, says what is wrong, and repairs it.
package main

import (
	"os"

	"github.com/offsetctl/offsetctl/cmd"
)

func main() { os.Exit(cmd.Main()) }
