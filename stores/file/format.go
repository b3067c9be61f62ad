package file

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/offsetctl/offsetctl/offset"
)

// schema names the format. A file of another one is not read, and not written over.
const schema = "offsetctl/offsets/1"

// absent is the version of an entry that is not there.
const absent offset.Version = "absent"

// document is the whole file.
type document struct {
	Schema     string  `json:"schema"`
	Generation int64   `json:"generation"` // grows with every write
	Offsets    []entry `json:"offsets"`    // sorted
}

// entry is one stored position.
type entry struct {
	Group     name            `json:"group"`
	Topic     name            `json:"topic"`
	Broker    name            `json:"broker,omitempty"`
	Partition int32           `json:"partition"`
	Next      json.RawMessage `json:"next"` // whatever stands there: what is no position is invalid, and the rest of the file is not
	Epoch     offset.Epoch    `json:"leaderEpoch,omitzero"`
	TopicID   name            `json:"topicId,omitempty"`
	Metadata  name            `json:"metadata,omitempty"`
	Owner     name            `json:"owner,omitempty"`
	Written   int64           `json:"written"` // the generation that wrote it
	Committed time.Time       `json:"committed"`
}

// name is text that may be no UTF-8: it is a JSON string, or {"base64": "…"}, so that every byte survives.
type name string

type encoded struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON writes the name.
func (n name) MarshalJSON() ([]byte, error) {
	if !utf8.ValidString(string(n)) {
		return json.Marshal(encoded{[]byte(n)})
	}
	return encode(string(n))
}

// encode is json.Marshal that leaves < and > as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *name) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		var e encoded
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		err := d.Decode(&e)
		*n = name(e.Base64)
		return err
	}
	if len(b) > 1 && b[0] == '"' && bytes.IndexByte(b, '\\') < 0 { // nothing is escaped, as nearly everywhere
		*n = name(b[1 : len(b)-1])
		return nil
	}
	var s *string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s == nil {
		return errors.New("null where a name should be")
	}
	// Half a surrogate pair is read as U+FFFD: two such names would be one.
	if strings.Count(*s, "\uFFFD") != bytes.Count(b, []byte("\uFFFD"))+bytes.Count(bytes.ToLower(b), []byte(`\ufffd`)) {
		return fmt.Errorf("%s is no Unicode text", b)
	}
	*n = name(*s)
	return nil
}

func (e entry) partition() offset.Partition {
	return offset.Partition{Topic: string(e.Topic), Broker: string(e.Broker), Index: e.Partition}
}

// compare is the order of the file.
func (e entry) compare(f entry) int { return e.compareKey(string(f.Group), f.partition()) }

func (e entry) compareKey(group string, p offset.Partition) int {
	if c := strings.Compare(string(e.Group), group); c != 0 {
		return c
	}
	return e.partition().Compare(p)
}

// stored is what an entry means.
func (e entry) stored() offset.Stored {
	s := offset.Stored{
		State: offset.Set, LeaderEpoch: e.Epoch, TopicID: string(e.TopicID), Metadata: string(e.Metadata), Owner: string(e.Owner),
		Committed: e.Committed, Version: e.version(),
	}
	n, err := strconv.ParseInt(string(e.Next), 10, 64)
	if s.Next = n; err != nil || n < 0 || strconv.FormatInt(n, 10) != string(e.Next) {
		s.State, s.Next, s.Raw = offset.Invalid, 0, e.Next
	}
	return s
}

// version also has what stands in the entry: somebody may have edited the number alone.
func (e entry) version() offset.Version {
	text := string(e.Next)
	if len(text) > 100 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		sum := sha256.Sum256(e.Next)
		text = "#" + hex.EncodeToString(sum[:])
	}
	return offset.Version(strconv.FormatInt(e.Written, 10) + "/" + text)
}

// parse reads a file. Anything doubtful is an error, never a smaller file.
func parse(text []byte) (document, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return document{}, errors.New("it is empty")
	}
	if !utf8.Valid(text) {
		return document{}, errors.New("it is no UTF-8")
	}
	var d document
	r := json.NewDecoder(bytes.NewReader(text))
	r.DisallowUnknownFields() // a write would lose what it does not know
	if err := r.Decode(&d); err != nil {
		return document{}, fmt.Errorf("near byte %d: %w", r.InputOffset(), err)
	}
	if _, err := r.Token(); !errors.Is(err, io.EOF) {
		return document{}, fmt.Errorf("something follows the end, at byte %d", r.InputOffset())
	}
	if d.Schema != schema {
		return document{}, fmt.Errorf("its schema is %q, not %q", d.Schema, schema)
	}
	if d.Offsets == nil {
		return document{}, errors.New("it has no list of offsets")
	}
	err := d.check()
	return d, err
}

// check sorts the entries and refuses what no write of ours makes.
func (d *document) check() error {
	for i := range d.Offsets {
		e := &d.Offsets[i]
		if e.Topic == "" || e.Partition < 0 || e.Next == nil {
			return fmt.Errorf("entry %d has no topic, partition or position", i+1)
		}
		if bytes.ContainsAny(e.Next, " \t\r\n") {
			var b bytes.Buffer
			if err := json.Compact(&b, e.Next); err != nil {
				return err
			}
			e.Next = b.Bytes()
		}
	}
	slices.SortFunc(d.Offsets, entry.compare)
	for i := 1; i < len(d.Offsets); i++ {
		if a := d.Offsets[i]; d.Offsets[i-1].compare(a) == 0 {
			return fmt.Errorf("%s of group %q stands in it twice", a.partition(), string(a.Group))
		}
	}
	return nil
}

// print writes a file: one line an entry, so that two versions can be compared by diff.
func (d document) print() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"schema\": %q, \"generation\": %d, \"offsets\": [", d.Schema, d.Generation)
	for i, e := range d.Offsets {
		if i > 0 {
			b.WriteByte(',')
		}
		line, err := encode(e)
		if err != nil {
			return nil, err
		}
		b.WriteByte('\n')
		b.Write(line)
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), nil
}

// find answers where an entry stands, or should.
func (d document) find(group string, p offset.Partition) (int, bool) {
	return slices.BinarySearchFunc(d.Offsets, p, func(e entry, p offset.Partition) int { return e.compareKey(group, p) })
}

// group is the part of the entries that belongs to a group.
func (d document) group(group string) []entry {
	from, _ := d.find(group, offset.Partition{})
	to := from
	for to < len(d.Offsets) && string(d.Offsets[to].Group) == group {
		to++
	}
	return d.Offsets[from:to]
}
