//go:build linux

package machine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tree lists a process and its descendants, parents first.
func tree(root int) []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		if parent, ok := parentIn(file); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	all := []int{root}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// parentIn reads the parent's id out of a stat file.
func parentIn(file string) (int, bool) {
	fields := stat(file)
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

// standsStill tells whether no thread of a process will run before it is told to: all are stopped, or have ended.
func standsStill(pid int) bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range stats {
		if fields := stat(file); len(fields) > 0 && !strings.ContainsAny(string(fields[0]), "TZX") {
			return false
		}
	}
	return true
}

// stat is what a stat file says behind the command's name, which may hold anything and ends at the last closing bracket: first
// the state, then the parent.
func stat(file string) [][]byte {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
}
