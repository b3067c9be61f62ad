// Package positions reads and prints positions as people write them down: which partitions, which time, which offsets,
// and the files that other tools write or take. Everything here is pure: the clock and the time zone are passed in.
//
// Time zones are found in the zone database of the machine. A program that must work without one imports time/tzdata.
package positions
