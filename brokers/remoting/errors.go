package remoting

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
)

// Error is an answer that is no success.
type Error struct {
	Addr   string
	Call   Code
	Code   int
	Remark string
}

func (e *Error) Error() string {
	remark, _, _ := strings.Cut(e.Remark, "\n") // the rest is a stack trace
	if i := strings.Index(remark, "see https://"); i > 0 {
		remark = remark[:i]
	}
	remark = strings.TrimRight(strings.TrimSpace(remark), ",;")
	if remark == "" {
		remark = "no reason given"
	}
	return fmt.Sprintf("%s answered %q with code %d: %s", e.Addr, e.Call, e.Code, remark)
}

// Is makes refusals and unknown names known as offset's kinds.
func (e *Error) Is(target error) bool {
	switch target {
	case offset.ErrDenied:
		return e.Code == NoPermission || e.Code == SystemError && strings.Contains(e.Remark, "AclException")
	case offset.ErrUnknownName:
		return e.Code == TopicNotExist || e.Code == GroupNotExist
	case offset.ErrUnsupported:
		return e.Code == NotSupported
	}
	return false
}

// IsCode tells whether err is an answer with one of the codes.
func IsCode(err error, codes ...int) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}

// Stage is how far a request came.
type Stage string

// Stages of a request.
const (
	StageConnect Stage = "connect"
	StageTLS     Stage = "TLS"
	StageSend    Stage = "send"
	StageAnswer  Stage = "answer"
)

// TransportError is a request without an answer.
type TransportError struct {
	Addr  string
	Call  Code
	Stage Stage
	Hint  string // what it may come from; "" when nothing is known
	Err   error
}

func (e *TransportError) Error() string {
	s := fmt.Sprintf("%s, %q: %s: %v", e.Addr, e.Call, e.Stage, e.Err)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

func (e *TransportError) Unwrap() error { return e.Err }

// Is makes every one of them an offset.ErrUnreachable.
func (e *TransportError) Is(target error) bool { return target == offset.ErrUnreachable }

// MayHaveArrived tells whether the server may have done what was asked although no answer came.
func MayHaveArrived(err error) bool {
	var e *TransportError
	return errors.As(err, &e) && (e.Stage == StageSend || e.Stage == StageAnswer)
}

// Wrapped when something else answers where a name server was expected.
var (
	ErrNoNameServer = errors.New("this is no name server: a RocketMQ broker or a RocketMQ 5 proxy answers here")
	errProxy        = offset.As(ErrNoNameServer, errors.New("this is a RocketMQ 5 proxy and no name server"))
)
