//go:build linux

package machine

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are taken below the range from which the system takes them for
// outgoing connections, so that a port chosen now is still free when its
// server binds it, and bound again when the server restarts.
const (
	firstPort = 15000
	lastPort  = 31999
)

var ports = struct {
	sync.Mutex
	next int
}{next: firstPort + rand.IntN((lastPort-firstPort)/2)}

// Port chooses a free port. None is given out twice until all were.
func Port() (int, error) { return Block(1) }

// Block chooses the first of n free ports in a row.
func Block(n int) (int, error) {
	ports.Lock()
	defer ports.Unlock()
	for range lastPort - firstPort {
		first := ports.next
		if first+n > lastPort {
			first, ports.next = firstPort, firstPort
		}
		if allFree(first, n) {
			ports.next = first + n
			return first, nil
		}
		ports.next++
	}
	return 0, fmt.Errorf("no free port between %d and %d", firstPort, lastPort)
}

func allFree(first, n int) bool {
	for port := first; port < first+n; port++ {
		l, err := net.Listen("tcp", Local(port))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

// Local is the loopback address with a port.
func Local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
