package remoting

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

func message(magic, sys uint32, body []byte) []byte {
	be := binary.BigEndian
	var b []byte
	b = be.AppendUint32(b, magic)
	b = append(be.AppendUint32(b, 0), 0, 0, 0, 3, 0, 0, 0, 0)
	b = be.AppendUint64(b, 41)
	b = be.AppendUint64(b, 4100)
	b = be.AppendUint32(b, sys)
	b = be.AppendUint64(b, 1000)
	b = append(b, make([]byte, hostLen(sys&flagBornV6))...)
	b = be.AppendUint64(b, 2000)
	b = append(b, make([]byte, hostLen(sys&flagStoreV6))...)
	b = be.AppendUint32(b, 2)
	b = be.AppendUint64(b, 0)
	b = append(be.AppendUint32(b, uint32(len(body))), body...)
	if magic == magicV2 {
		b = be.AppendUint16(b, 1)
	} else {
		b = append(b, 1)
	}
	b = append(b, 'T')
	props := "TAGS\x01A\x02KEYS\x01k1 k2" // the last separator may be missing
	b = append(be.AppendUint16(b, uint16(len(props))), props...)
	return append(be.AppendUint32(nil, uint32(4+len(b))), b...)
}

func pack(t testing.TB, codec uint32, s string) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	switch codec {
	case 1:
		w = lz4.NewWriter(&b)
	case 2:
		w, _ = zstd.NewWriter(&b)
	default:
		w = zlib.NewWriter(&b)
	}
	io.WriteString(w, s)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDecodeMessages(t *testing.T) {
	text := strings.Repeat("x", 5000)
	var in []byte
	in = append(in, message(magicV1, 0, []byte(text))...)
	in = append(in, message(magicV2, flagBornV6|flagStoreV6, []byte(text))...)
	for codec := range uint32(4) {
		in = append(in, message(magicV1, flagPacked|codec<<flagCodecShift, pack(t, codec, text))...)
	}
	ms, err := DecodeMessages(in)
	if err != nil || len(ms) != 6 {
		t.Fatal(len(ms), err)
	}
	for i, m := range ms {
		if m.Err != nil || string(m.Body) != text || m.Offset != 41 || m.Queue != 3 || m.Topic != "T" || m.Reconsumed != 2 ||
			!m.Stored.Equal(time.UnixMilli(2000)) || !m.Born.Equal(time.UnixMilli(1000)) || m.Property("TAGS") != "A" || m.Property("KEYS") != "k1 k2" {
			t.Errorf("%d: %+v", i, m)
		}
	}
}

func TestBodyThatCannotBeUnpacked(t *testing.T) {
	for _, sys := range []uint32{flagPacked, flagPacked | 1<<flagCodecShift, flagPacked | 2<<flagCodecShift, flagPacked | 7<<flagCodecShift} {
		ms, err := DecodeMessages(message(magicV1, sys, []byte("garbage")))
		if err != nil || len(ms) != 1 || ms[0].Err == nil || ms[0].Offset != 41 {
			t.Errorf("%#x: %+v %v", sys, ms, err)
		}
	}
}

func TestCutMessages(t *testing.T) {
	whole := message(magicV1, 0, []byte("abc"))
	for n := 1; n < len(whole); n++ {
		if _, err := DecodeMessages(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes were taken for a message", n, len(whole))
		}
	}
	bad := bytes.Clone(whole)
	bad[4] = 0
	if _, err := DecodeMessages(bad); err == nil {
		t.Error("any number was taken for the start of a message")
	}
}

func FuzzDecodeMessages(f *testing.F) {
	f.Add(message(magicV1, 0, []byte("a")))
	f.Add(message(magicV2, flagBornV6, []byte("a")))
	f.Add(message(magicV1, flagPacked, pack(f, 0, "abc")))
	f.Fuzz(func(t *testing.T, in []byte) {
		ms, err := DecodeMessages(in)
		n := 0
		for _, m := range ms {
			n += len(m.Topic)
		}
		if n > len(in) || err == nil && len(in) > 0 && len(ms) == 0 {
			t.Fatal(len(ms), n, err)
		}
	})
}
