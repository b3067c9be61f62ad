package offset

import "errors"

// Kinds of failure, for errors.Is; the command line turns them into exit codes. Any other error of a Write is a failure
// that changed nothing.
var (
	ErrUnreachable = errors.New("cannot be reached")
	ErrDenied      = errors.New("not permitted")
	ErrUnknownName = errors.New("does not exist")                    // a topic, partition, table or family that was named
	ErrNoLeader    = errors.New("has no leader")                     // also a RocketMQ master that is down
	ErrMoved       = errors.New("has moved since it was read")       // Version does not hold; Value has what is there
	ErrUntouched   = errors.New("left alone because another failed") // all or nothing, and another partition stopped it
	ErrLive        = errors.New("is being consumed")                 // refused by the server because of members
	ErrOutcome     = errors.New("may or may not have been written")  // looked again, and still not known
	ErrVolatile    = errors.New("may be lost again")                 // beside ErrOutcome: it is written, and the store cannot promise that it stays
	ErrTooLarge    = errors.New("is too much for one write")         // nothing written; in parts it is not together
	ErrUnsupported = errors.New("is not possible there")             // nothing written
	ErrConfig      = errors.New("is not configured rightly")         // an address, option or table that cannot work as it is
)

// As gives err its kind without saying it: for sentences that already tell what is wrong.
func As(kind, err error) error { return &kindError{kind, err} }

type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }
