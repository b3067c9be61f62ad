package positions

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page for users says what the code says.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../docs/positions-and-times.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(b)), " ")
	for _, x := range []struct{ in, zone string }{
		{"1717200000", ""}, {"1717200000000000", ""}, {"2023-10-29T02:30", "Europe/Berlin"}, {"2023-03-26T02:30", "Europe/Berlin"},
	} {
		_, err := Clock{now, zone(t, x.zone)}.Time(x.in)
		if err == nil {
			t.Errorf("%s is read", x.in)
			continue
		}
		// The page leaves out what the error repeats: the text itself.
		said := strings.TrimPrefix(err.Error(), `time "`+x.in+`": `)
		said = strings.TrimPrefix(said, x.in+":00 ")
		if !strings.Contains(page, x.in+" "+said) {
			t.Errorf("the page does not say: %s %s", x.in, said)
		}
	}
	when, err := Clock{Now: now}.Time("2026-11-29T14:05+01:00")
	if line := Moment(when, now); err != nil || !strings.Contains(page, line) {
		t.Errorf("the page does not say: %s, %v", line, err)
	}
	files := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(b, -1)
	if len(files) == 0 {
		t.Fatal("no file in the page")
	}
	for _, m := range files {
		if f, err := parseFile(m[1]); err != nil || len(f.Sets) != 1 {
			t.Errorf("%s: %+v, %v", m[1], f, err)
		}
	}
	flink, err := Handover{Origin: Origin{Cluster: "5L6g3nShT", Written: now}, Set: set("billing orders:0=8800125 orders:1=7104331 orders:2=8790001")}.Print("flink")
	if err != nil || !strings.Contains(string(b), string(flink)) {
		t.Errorf("the page does not have %s, %v", flink, err)
	}
}
