//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memoryLimit is the part of this machine's memory that servers may take, in
// MiB: half, for compilers and tests want the rest.
func memoryLimit() (int, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), "MemTotal:")
		if !ok {
			continue
		}
		kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(rest, "kB")))
		if err != nil {
			return 0, err
		}
		return kib / 1024 / 2, nil
	}
	return 0, fmt.Errorf("/proc/meminfo does not tell MemTotal")
}
