//go:build race

package main

// Where the tests look for races, so does the program that they run.
var buildFlags = []string{"-race"}
