package repair

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/offsetctl/offsetctl/offset"
	"pgregory.net/rapid"
)

func encoded(t testing.TB, p *Plan) []byte {
	t.Helper()
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPlanFileComesBackAsItWas(t *testing.T) {
	p := skipping(t, toEarliest)
	b := encoded(t, p)
	q, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if again := encoded(t, q); !bytes.Equal(again, b) {
		t.Errorf("written again it is\n%s\nnot\n%s", again, b)
	}
	if it := row(t, q, "orders:0"); it.From.Version == "" || it.Action != Write || it.Effect.Replayed != 1000 {
		t.Errorf("%+v", it)
	}
}

func TestPlanFilesThatAreRefused(t *testing.T) {
	b := string(encoded(t, skipping(t, toEarliest)))
	swap := func(old, by string) string {
		if !strings.Contains(b, old) {
			t.Fatalf("the file has no %q:\n%s", old, b)
		}
		return strings.Replace(b, old, by, 1)
	}
	item := func(edit func(map[string]any)) string {
		var m map[string]any
		if err := json.Unmarshal([]byte(b), &m); err != nil {
			t.Fatal(err)
		}
		g := m["groups"].([]any)[0].(map[string]any)
		edit(g)
		out, _ := json.Marshal(m)
		return string(out)
	}
	first := func(g map[string]any) map[string]any { return g["items"].([]any)[0].(map[string]any) }
	for name, c := range map[string]struct{ text, says string }{
		"no JSON":            {"{", "not readable"},
		"another schema":     {swap("plan/v1", "plan/v9"), "plan/v9"},
		"an unknown field":   {swap(`"kind"`, `"kid"`), "kid"},
		"a changed number":   {swap(`"next": 0`, `"next": 7`), "digest"},
		"a changed cluster":  {swap(`"c1"`, `"c2"`), "digest"},
		"a changed digest":   {swap("sha256:", "sha256:0"), "digest"},
		"two plans":          {b + b, "after top-level value"},
		"a negative number":  {item(func(g map[string]any) { first(g)["to"].(map[string]any)["next"] = -1 }), "no position"},
		"raw bytes":          {item(func(g map[string]any) { first(g)["to"].(map[string]any)["raw"] = "AAAA" }), "raw bytes"},
		"a partition twice":  {item(func(g map[string]any) { g["items"] = append(g["items"].([]any), first(g)) }), "orders:0 twice"},
		"no partition":       {item(func(g map[string]any) { first(g)["partition"] = "orders" }), "TOPIC:PARTITION"},
		"nothing known":      {item(func(g map[string]any) { first(g)["from"].(map[string]any)["state"] = "unknown" }), "what is stored"},
		"a deletion with To": {item(func(g map[string]any) { first(g)["action"] = "delete" }), "deleted"},
	} {
		_, err := Decode([]byte(c.text))
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		wantRefused(t, err, CausePlan, c.says, "--plan-out")
	}
}

func FuzzDecode(f *testing.F) {
	p := &Plan{Schema: Schema, Kind: KindReset, Made: time.Unix(0, 0).UTC(), Origin: here, Groups: []Group{{Name: "g", Items: []Item{{
		Change: offset.Change{Partition: offset.Partition{Topic: "t"}, From: set(1), To: set(2)}, Action: Write}}}}}
	b, err := p.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"schema":"offsetctl.plan/v1","groups":[{"group":"g","items":[{"partition":"t:0","from":{"state":"set","next":1}}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(b)
		if err != nil {
			return
		}
		q, err := Decode(mustEncode(t, p))
		if err != nil || q.Digest != p.Digest {
			t.Fatalf("%v: %s became %s", err, p.Digest, q.Digest)
		}
		for it := range p.items() {
			if it.Action == Write && p.Kind != KindUndo && (it.To.State != offset.Set || it.To.Next < 0) {
				t.Fatalf("took %+v", it)
			}
		}
	})
}

func mustEncode(t *testing.T, p *Plan) []byte {
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A changed byte anywhere inside a plan is found, unless it changes nothing that the plan says.
func TestEveryChangedByteIsFound(t *testing.T) {
	b := encoded(t, skipping(t, toEarliest))
	want, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		c := bytes.Clone(b)
		c[rapid.IntRange(0, len(c)-1).Draw(t, "at")] = byte(rapid.IntRange(0x20, 0x7e).Draw(t, "to"))
		if got, err := Decode(c); err == nil && got.digest() != want.digest() {
			t.Fatalf("taken:\n%s", c)
		}
	})
}
