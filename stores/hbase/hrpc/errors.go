package hrpc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/offsetctl/offsetctl/offset"
)

// ErrNoFilter is the answer of a server that is too old for conditions by filter. Nothing was written.
var ErrNoFilter = errors.New("this HBase is older than 2.4 and takes no condition over several columns")

// ServerError is what a server answered instead of a result.
type ServerError struct {
	Class      string // without the package
	Text       string // the first line
	DoNotRetry bool
}

func (e *ServerError) Error() string {
	if e.Text == "" {
		return e.Class
	}
	return e.Class + ": " + e.Text
}

// Unwrap answers the kind of failure.
func (e *ServerError) Unwrap() error {
	switch e.Class {
	case "AccessDeniedException":
		return offset.ErrDenied
	case "NoSuchColumnFamilyException", "TableNotFoundException", "NamespaceNotFoundException":
		return offset.ErrUnknownName
	}
	return nil
}

// errMute is a connection that was closed before the first answer: so does a server that does not know the service, or wants
// another login.
var errMute = errors.New("the server closed the connection without an answer: another service listens there, or it demands Kerberos or TLS, which is not supported")

// lostError is a connection that failed; who called names the server. A call that was sent may have been carried out.
type lostError struct {
	sent bool
	err  error
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() []error {
	return []error{offset.ErrUnreachable, e.err}
}

// unsettledError stands for a region that has no server right now.
type unsettledError struct{ why string }

func (e *unsettledError) Error() string { return e.why }
func (e *unsettledError) Unwrap() error { return offset.ErrUnreachable }

// outcomeError is of one kind only: whatever the cause was, a try that may have been carried out is not repeated.
type outcomeError struct {
	row []byte
	err error
}

func (e *outcomeError) Error() string {
	return fmt.Sprintf("row %q %v: %v", e.row, offset.ErrOutcome, e.err)
}
func (e *outcomeError) Unwrap() error { return offset.ErrOutcome }

// cure is what an error asks for before the next try.
type cure uint8

const (
	final     cure = iota // no further try
	again                 // the same, a little later
	relocate              // forget where the region is
	reconnect             // the same, over a new connection: the server goes or comes
	doubtful              // perhaps for good, so few tries
)

func cureOf(err error) cure {
	var ex *ServerError
	var lost *lostError
	var unsettled *unsettledError
	switch {
	case errors.Is(err, errMute), errors.As(err, &lost) && errors.As(err, &ex):
		return doubtful // wrong service or login, or a server that is just going
	case lost != nil:
		return relocate // a connection that broke is not used again anyway
	case errors.As(err, &unsettled):
		return relocate
	case errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, zk.ErrSessionExpired):
		return again // the ZooKeeper library connects anew by itself
	case errors.Is(err, zk.ErrNoServer), errors.Is(err, errNoMaster):
		return doubtful // also where one connection was lost, or while the servers choose a leader
	case !errors.As(err, &ex):
		return final
	}
	switch ex.Class {
	case "NotServingRegionException", "RegionMovedException", "WrongRegionException", "UnknownScannerException",
		"OutOfOrderScannerNextException", "LeaseException":
		return relocate
	case "FailedSanityCheckException":
		if strings.Contains(ex.Text, "Requested row out of range") {
			return relocate
		}
		return final
	case "RegionServerStoppedException", "RegionServerAbortedException", "ServerNotRunningYetException":
		return reconnect
	case "RegionOpeningException", "CallQueueTooBigException", "RegionTooBusyException", "PleaseHoldException",
		"RpcThrottlingException", "MultiActionResultTooLarge", "CallDroppedException":
		return again
	case "NoSuchColumnFamilyException", "AccessDeniedException":
		return final
	}
	if ex.DoNotRetry || notUnderstood(ex) {
		return final
	}
	return doubtful
}

// notUnderstood holds where a server could not even read the request.
func notUnderstood(ex *ServerError) bool {
	return ex.Class == "UninitializedMessageException" || ex.Class == "InvalidProtocolBufferException"
}

// mayBeDone tells whether a mutation that failed so may have been carried out all the same.
func mayBeDone(err error) bool {
	var lost *lostError
	if errors.As(err, &lost) {
		return lost.sent
	}
	var ex *ServerError
	if errors.As(err, &ex) {
		return ex.Class == "RegionServerStoppedException" || ex.Class == "RegionServerAbortedException"
	}
	return false
}
