package offset

import (
	"log/slog"
	"time"
)

// Env is what every Open is handed, because nothing below the command line prints, reads the clock or the environment.
type Env struct {
	Log   *slog.Logger              // never nil; diagnostics for -v
	Now   func() time.Time          // never nil
	Trace func(server, call string) // called once a request, before it is sent; nil: nobody listens
}

// Call reports one request to Trace.
func (e Env) Call(server, call string) {
	if e.Trace != nil {
		e.Trace(server, call)
	}
}
