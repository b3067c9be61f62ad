package remoting

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestFrameRoundTrip(t *testing.T) {
	in := Command{Code: 208, Version: 401, Opaque: 7, Flag: 1, Remark: "ü\n", Ext: map[string]string{"topic": `%RETRY%g"1`, "n": "9007199254740993"}, Body: []byte("body")}
	frame, err := in.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(append(frame, frame...))
	for range 2 {
		out, err := ReadCommand(r, 1<<20)
		if err != nil || !reflect.DeepEqual(in, *out) {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	if _, err := ReadCommand(r, 1<<20); !errors.Is(err, io.EOF) {
		t.Fatal("after the last frame:", err)
	}
	if !bytes.Contains(frame, []byte(`"language":"GO"`)) {
		t.Error("without a language brokers shape some answers for another one")
	}
}

func TestFrameWithoutFieldsCarriesExtFields(t *testing.T) {
	frame, _ := (&Command{Code: 43}).Append(nil)
	if !bytes.Contains(frame, []byte(`"extFields":{}`)) {
		t.Errorf("%s", frame)
	}
}

func TestBadFrames(t *testing.T) {
	word := func(n ...uint32) (b []byte) {
		for _, n := range n {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		return b
	}
	for name, x := range map[string]struct {
		in   []byte
		want error
		text string
	}{
		"too large":             {word(1<<20 + 1), ErrFrame, "limit is 1048576"},
		"too short":             {word(3), ErrFrame, "length is 3"},
		"header past the frame": {word(8, 5), ErrFrame, "a header of 5 bytes in 8"},
		"unknown header":        {word(4, 9<<24), ErrFrame, "header type 9"},
		"no JSON":               {append(word(6, 2), "{["...), ErrFrame, "header"},
		"cut in the length":     {[]byte{0, 0}, io.ErrUnexpectedEOF, ""},
		"cut after the length":  {word(10), io.ErrUnexpectedEOF, ""},
		"cut in the header":     {append(word(10, 6), "{"...), io.ErrUnexpectedEOF, ""},
		"cut in the body":       {append(word(10, 2), "{}ab"...)[:11], io.ErrUnexpectedEOF, ""},
		"HTTP":                  {[]byte("HTTP/1.1 400 Bad Request\r\n"), ErrFrame, "limit"},
		"short binary header":   {append(word(8, 1<<24|4), 0, 1, 2, 3), ErrFrame, "binary header"},
		"nested field in the header": {append(word(4+24, 24), `{"extFields":{"a":[1]}} `...), ErrFrame,
			"neither text nor number"},
	} {
		_, err := ReadCommand(bytes.NewReader(x.in), 1<<20)
		if !errors.Is(err, x.want) || !strings.Contains(err.Error(), x.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLengthFieldAllocatesNothing(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 16 {
		in := binary.BigEndian.AppendUint32(nil, 100<<20)
		in = append(binary.BigEndian.AppendUint32(in, 2), "{}"...)
		if _, err := ReadCommand(bytes.NewReader(in), DefaultFrameLimit); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("%d bytes were allocated for 16 frames that never came", n)
	}
}

func TestNumbersAndNullsInHeader(t *testing.T) {
	c, err := parseJSONHeader([]byte(`{"code":0,"extFields":{"offset":9007199254740993,"x":null,"b":true},"unknown":{},"language":"JAVA"}`))
	if err != nil || !maps.Equal(c.Ext, map[string]string{"offset": "9007199254740993", "b": "true"}) {
		t.Errorf("%+v %v", c, err)
	}
}

func binaryHeader(c *Command) []byte {
	be := binary.BigEndian
	b := be.AppendUint16(nil, uint16(c.Code))
	b = append(b, 0)
	b = be.AppendUint16(b, uint16(c.Version))
	b = be.AppendUint32(b, uint32(c.Opaque))
	b = be.AppendUint32(b, uint32(c.Flag))
	b = append(be.AppendUint32(b, uint32(len(c.Remark))), c.Remark...)
	var ext []byte
	for k, v := range c.Ext {
		ext = append(be.AppendUint16(ext, uint16(len(k))), k...)
		ext = append(be.AppendUint32(ext, uint32(len(v))), v...)
	}
	return append(be.AppendUint32(b, uint32(len(ext))), ext...)
}

func TestBinaryHeader(t *testing.T) {
	want := &Command{Code: 22, Version: 407, Opaque: 3, Flag: 1, Remark: "Not found", Ext: map[string]string{"offset": "5", "a": ""}}
	head := binaryHeader(want)
	if got, err := parseBinaryHeader(head); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v %v", got, err)
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(head)+1))
	frame = binary.BigEndian.AppendUint32(frame, headerBinary<<24|uint32(len(head)))
	frame = append(append(frame, head...), '!')
	if got, err := ReadCommand(bytes.NewReader(frame), 1<<20); err != nil || string(got.Body) != "!" || got.Code != 22 {
		t.Fatalf("%+v %v", got, err)
	}
}

func FuzzReadCommand(f *testing.F) {
	c := Command{Code: 1, Ext: map[string]string{"a": "b"}, Body: []byte("x")}
	frame, _ := c.Append(nil)
	f.Add(frame)
	head := binaryHeader(&c)
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(head)))
	f.Add(append(binary.BigEndian.AppendUint32(b, headerBinary<<24|uint32(len(head))), head...))
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := ReadCommand(bytes.NewReader(in), 1<<16)
		if err != nil {
			return
		}
		again, err := c.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := ReadCommand(bytes.NewReader(again), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if d.Code != c.Code || d.Opaque != c.Opaque || d.Flag != c.Flag || len(d.Ext) != len(c.Ext) || !bytes.Equal(d.Body, c.Body) {
			t.Fatalf("%+v became %+v", c, d)
		}
	})
}

func FuzzBinaryHeader(f *testing.F) {
	f.Add(binaryHeader(&Command{Code: 22, Remark: "r", Ext: map[string]string{"k": "v"}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := parseBinaryHeader(in)
		if err != nil {
			return
		}
		if d, err := parseBinaryHeader(binaryHeader(c)); err != nil || !reflect.DeepEqual(c, d) {
			t.Fatalf("%+v became %+v, %v", c, d, err)
		}
	})
}

func FuzzJSONHeader(f *testing.F) {
	f.Add([]byte(`{"code":0,"extFields":{"offset":"1","n":2},"flag":1,"language":"JAVA","opaque":1,"remark":"","version":407}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := parseJSONHeader(in)
		if (err == nil) != (c != nil) {
			t.Fatal(c, err)
		}
		if err == nil && !json.Valid(in) {
			t.Fatalf("%q was taken for a header", in)
		}
	})
}
