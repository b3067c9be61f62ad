// Command offsetctl shows, judges and repairs the positions of stream consumers.
package main

func main() {}
