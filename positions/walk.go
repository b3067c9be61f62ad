package positions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// walker reads JSON token by token, because a decoder into structs keeps the last of two equal members and loses the line.
type walker struct {
	data []byte
	dec  *json.Decoder
}

func newWalker(data []byte) *walker {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return &walker{data, dec}
}

// fail adds the line that was read last.
func (w *walker) fail(err error) error {
	at := w.dec.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	}
	return &lineError{lineAt(w.data, int(min(at, int64(len(w.data))))), err}
}

type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

func (w *walker) token() (json.Token, error) {
	t, err := w.dec.Token()
	if errors.Is(err, io.EOF) {
		err = errors.New("it ends in the middle")
	}
	if err != nil {
		return nil, w.fail(err)
	}
	return t, nil
}

// end makes sure that nothing follows.
func (w *walker) end() error {
	if _, err := w.dec.Token(); !errors.Is(err, io.EOF) {
		return w.fail(errors.New("something follows the end"))
	}
	return nil
}

func (w *walker) open(delim json.Delim, what string) error {
	t, err := w.token()
	if err != nil {
		return err
	}
	if t != delim {
		return w.fail(fmt.Errorf("%s is missing here", what))
	}
	return nil
}

// object calls member for each member; a name that stands twice is an error. Member reads the value; its errors get the line.
func (w *walker) object(member func(name string) error) error {
	if err := w.open('{', "a { with members"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for w.dec.More() {
		t, err := w.token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		if seen[name] {
			return w.fail(fmt.Errorf("%q stands twice", name))
		}
		seen[name] = true
		if err := w.lined(member(name)); err != nil {
			return err
		}
	}
	_, err := w.token()
	return err
}

// array calls item for each item, which reads it.
func (w *walker) array(item func() error) error {
	if err := w.open('[', "a [ with items"); err != nil {
		return err
	}
	for w.dec.More() {
		if err := w.lined(item()); err != nil {
			return err
		}
	}
	_, err := w.token()
	return err
}

// lined adds the line to an error that has none.
func (w *walker) lined(err error) error {
	if _, has := errors.AsType[*lineError](err); err == nil || has {
		return err
	}
	return w.fail(err)
}

func (w *walker) text() (string, error) {
	t, err := w.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", errors.New("a text in quotes is missing here")
	}
	return s, nil
}

// digits answers a number as it is written, so that none of its digits is lost.
func (w *walker) digits() (string, error) {
	t, err := w.token()
	if err != nil {
		return "", err
	}
	n, ok := t.(json.Number)
	if !ok {
		return "", errors.New("a number without quotes is missing here")
	}
	return n.String(), nil
}

// startsObject tells whether the value that comes next is an object.
func (w *walker) startsObject() bool {
	rest := bytes.TrimLeft(w.data[w.dec.InputOffset():], " \t\r\n:")
	return len(rest) > 0 && rest[0] == '{'
}
