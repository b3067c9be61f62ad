// Package offset is the domain: what a position is, what a store and a broker answer, and where a job starts.
// It imports only the standard library, does no input or output, and reads neither clock nor environment.
//
// Two rules hold for every list here. A list of partitions, queries or changes that is passed in is sorted by
// Partition.Compare and has no partition twice. A []Result that comes back has the length and the order of the
// question, so nothing that was asked about can be forgotten.
//
// Absence, zero and failure are three different things: a position is Absent only on positive proof, zero is a
// position like any other, and a failed look-up is an error beside its partition.
package offset
