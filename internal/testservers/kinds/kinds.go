//go:build linux

// Package kinds knows the servers: what each is made of and how it is started.
package kinds

import (
	"context"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/internal/testservers/artifacts"
	"github.com/offsetctl/offsetctl/internal/testservers/machine"
)

// Kind is a server that tests can ask for.
type Kind struct {
	Name    string
	Version string
	Memory  int // MiB that it takes, all nodes together
	Needs   []artifacts.Item
	// Jars is the set whose class path clients may ask for; may be nil.
	Jars *artifacts.Jars
	// AllInterfaces is set where the server cannot be bound to loopback alone:
	// it is started only in a network that has nothing else.
	AllInterfaces bool
	// Start fills in the instance's addresses and starts its nodes.
	Start func(context.Context, *machine.Instance) error
}

// All lists every kind, by name.
func All() []Kind {
	all := slices.Concat(kafkaKinds(), sqlKinds(), redisKinds(), zooKeeperKinds(), hbaseKinds(), rocketKinds())
	slices.SortFunc(all, func(a, b Kind) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Find returns the kind of that name.
func Find(name string) (Kind, bool) {
	for _, k := range All() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Tools are the programs that tests run besides the servers.
func Tools() []artifacts.Item {
	return []artifacts.Item{artifacts.Package{Name: "kcat", Program: "kcat"}}
}

// java and maven are what every server out of jars needs. Where a JDK is there
// already, whatever its origin, none is installed.
var (
	java  = artifacts.Package{Name: "openjdk-17-jdk-headless", Program: "javac"}
	maven = artifacts.Package{Name: "maven", Program: "mvn"}
)

// jvm starts a Java command line with the flags that suit small servers on a
// busy machine: little compilation, one collector thread.
func jvm(heap string, jars artifacts.Jars, more ...string) []string {
	line := []string{"java", "-Xmx" + heap, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", jars.ClassPath()}
	return append(line, more...)
}
