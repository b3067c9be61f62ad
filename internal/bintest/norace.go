//go:build !race

package bintest

var raceFlags []string
