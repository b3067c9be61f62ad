//go:build race

package bintest

// Where the tests look for races, so does the program that they run.
var raceFlags = []string{"-race"}
