package cmd

import (
	"bufio"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

// IO is everything that the command line touches of the world: streams, environment, clock, files.
type IO struct {
	In                    io.Reader
	Out, Err              io.Writer
	InTTY, OutTTY, ErrTTY bool
	Width                 int // of the terminal; 0: not a terminal
	Env                   func(name string) (string, bool)
	Now                   func() time.Time

	lines *bufio.Reader
}

// System is the process's own IO.
func System() *IO {
	tty := func(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }
	w := 0
	if tty(os.Stdout) {
		w, _, _ = term.GetSize(int(os.Stdout.Fd()))
	}
	return &IO{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY: tty(os.Stdin), OutTTY: tty(os.Stdout), ErrTTY: tty(os.Stderr),
		Width: w, Env: os.LookupEnv, Now: time.Now,
	}
}

// env answers an environment variable, "" where it is not set.
func (s *IO) env(name string) string {
	v, _ := s.Env(name)
	return v
}

// colour tells whether standard output takes it: a terminal, and the user did not say no.
func (s *IO) colour() bool {
	_, no := s.Env("NO_COLOR")
	return s.OutTTY && !no && s.env("TERM") != "dumb"
}

// ask reads one line after a prompt on standard error.
func (s *IO) ask(prompt string) (string, error) {
	if s.lines == nil {
		s.lines = bufio.NewReader(s.In)
	}
	if _, err := io.WriteString(s.Err, prompt); err != nil {
		return "", err
	}
	line, err := s.lines.ReadString('\n')
	if err != nil && line == "" {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
