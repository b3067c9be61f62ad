package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/repair"
)

// Exit codes. The table below is the one that help and docs show.
const (
	exitOK          = 0
	exitFindings    = 1
	exitUsage       = 2
	exitIncomplete  = 3
	exitRefused     = 4
	exitUnreachable = 5
	exitInterrupted = 130
	exitTerminated  = 143
)

// ExitCode is one row of the table of exit codes.
type ExitCode struct {
	Code    int
	Meaning string
}

// ExitCodes is the table of exit codes, for help and docs.
var ExitCodes = []ExitCode{
	{exitOK, "done, or healthy"},
	{exitFindings, "findings: a verdict that --fail-on names"},
	{exitUsage, "usage or configuration is wrong, or a name does not exist; nothing was written"},
	{exitIncomplete, "incomplete: something could not be measured or written, or its outcome is not known; each is named"},
	{exitRefused, "refused, nothing was written: live, moved, outside the log, not confirmed, protected"},
	{exitUnreachable, "a server cannot be reached or denies access; the step is named"},
	{exitInterrupted, "interrupted (143: terminated); what was written is said"},
}

// codeError is an error that already knows its exit code. A nil err ends the program without another word.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *codeError) Unwrap() error { return e.err }

// usagef is an error of exit code 2.
func usagef(format string, args ...any) error {
	return &codeError{exitUsage, fmt.Errorf(format, args...)}
}

// usage gives an error exit code 2.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &codeError{exitUsage, err}
}

// ended is how a command ends that has said everything: by its exit code alone.
func ended(code int) error {
	if code == exitOK {
		return nil
	}
	return &codeError{code: code}
}

// exitCode is the exit code of an error; signal is the one that interrupted, or 0.
func exitCode(err error, signal int) int {
	var ce *codeError
	switch {
	case err == nil:
		return exitOK
	case signal != 0 && errors.Is(err, context.Canceled):
		return 128 + signal
	case errors.As(err, &ce):
		return ce.code
	case errors.Is(err, repair.ErrRefused), errors.Is(err, offset.ErrMoved), errors.Is(err, offset.ErrLive), errors.Is(err, offset.ErrStop):
		return exitRefused
	case errors.Is(err, offset.ErrUnreachable), errors.Is(err, offset.ErrDenied):
		return exitUnreachable
	case errors.Is(err, offset.ErrConfig), errors.Is(err, offset.ErrUnknownName), errors.Is(err, offset.ErrUnsupported):
		return exitUsage
	}
	return exitIncomplete
}

func exitCodesHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, e := range ExitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", e.Code, e.Meaning)
	}
	return b.String()
}
