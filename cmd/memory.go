package cmd

import (
	"os"
	"runtime/debug"
)

// Nearly all that a command reads is needed until it is printed, so collecting garbage on the way frees little and takes a
// quarter of the time. Commands that look again and again collect as usual.
const (
	collectSeldom = 400
	collectOften  = 100
)

// collect sets how much the heap grows between collections, in percent, unless the environment says so.
func collect(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
