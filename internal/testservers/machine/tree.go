//go:build linux

package machine

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
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

// parentIn reads the parent's id out of a stat file. The command's name, which
// may hold anything, ends at the last closing bracket.
func parentIn(file string) (int, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return 0, false
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
