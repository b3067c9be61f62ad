package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/offsetctl/offsetctl/inspect"
	"github.com/offsetctl/offsetctl/inspect/inspecttest"
	"github.com/offsetctl/offsetctl/offset"
)

func TestInspectFormats(t *testing.T) {
	for _, format := range []string{"table", "wide", "json", "yaml", "csv", "prometheus"} {
		t.Run(format, func(t *testing.T) { golden(t, "inspect."+format, shown(t, billing(t), options(format))) })
	}
}

// several is a cluster with healthy groups and two that are not.
func several(t testing.TB) *inspect.Report {
	w := faults()
	for i := range 9 {
		w.Commit(fmt.Sprint("ok-", i), "payments:0", 1200000)
	}
	w.Log("audit:0", 0, 4410220)
	w.Commit("audit", "audit:0", 0)
	w.Commit("audit", "payments:0", 1200410)
	w.Log("audit:0", 0, 4410220).Fill(0, 1, now.Add(-72*time.Hour))
	return look(t, w, inspect.Ask{Stale: 24 * time.Hour})
}

func TestBy(t *testing.T) {
	for _, by := range []string{"", "group", "topic", "partition"} {
		o := options("table")
		o.By = by
		golden(t, "by-"+by+".table", shown(t, several(t), o))
	}
	o := options("wide")
	if out := string(shown(t, several(t), o)); !strings.Contains(out, "ok-7") {
		t.Error("wide leaves nothing out")
	}
}

// What programs read is summed up by group or topic, too; a comparison needs the partitions.
func TestByForPrograms(t *testing.T) {
	for _, by := range []string{"group", "topic"} {
		for _, format := range []string{"json", "yaml", "csv", "prometheus"} {
			o := options(format)
			o.By, o.Show = by, []inspect.Verdict{inspect.Stale, inspect.HeadOverflow}
			out := shown(t, several(t), o)
			golden(t, "by-"+by+"."+format, out)
			if bytes.Contains(out, []byte("8800125")) {
				t.Errorf("%s by %s has a partition's position", format, by)
			}
			if format == "json" {
				if _, err := ParseReport(out); err == nil || !strings.Contains(err.Error(), "--by "+by) {
					t.Errorf("%v", err)
				}
			}
		}
	}
	o := options("json")
	plain := shown(t, several(t), o)
	o.By = "partition"
	if !bytes.Equal(plain, shown(t, several(t), o)) {
		t.Error("partitions are what JSON has by itself")
	}
}

func TestShowHidesRowsOnly(t *testing.T) {
	o := options("table")
	o.Show = []inspect.Verdict{inspect.HeadOverflow, inspect.Stale}
	golden(t, "show.table", shown(t, billing(t), o))
	o.Format = "json"
	var d document
	if err := json.Unmarshal(shown(t, billing(t), o), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Groups[0].Partitions) != 2 || d.ExitCode != 3 || d.Verdict != inspect.Unknown || d.Groups[0].Lag != 1472282 {
		t.Errorf("%d rows, exit code %d, %v", len(d.Groups[0].Partitions), d.ExitCode, d.Verdict)
	}
}

// crowd is a group with many partitions.
func crowd(t testing.TB, healthy int) *inspect.Report {
	w := inspecttest.New()
	w.Caps.Members = true
	for i := range healthy + 2 {
		p := fmt.Sprint("orders:", i)
		w.Log(p, 100, 200)
		w.Commit("g", p, 190)
	}
	w.Commit("g", "orders:5", 90)
	w.Commit("g", "orders:17", 90)
	return look(t, w, inspect.Ask{Groups: []string{"g"}})
}

func TestManyHealthyRowsShareALine(t *testing.T) {
	golden(t, "collapsed.table", shown(t, crowd(t, 62), options("table")))
	few := string(shown(t, crowd(t, 20), options("table")))
	if n := strings.Count(few, "  ok"); n != 20 {
		t.Errorf("20 rows are shown one by one, not %d", n)
	}
	o := options("table")
	o.Show = []inspect.Verdict{inspect.OK}
	if n := strings.Count(string(shown(t, crowd(t, 62), o)), "  ok\n"); n != 62 {
		t.Errorf("who asks for ok rows gets them: %d", n)
	}
}

// TestWidth: on a terminal no row is longer than the line, as long as that costs no number and no command.
func TestWidth(t *testing.T) {
	w := inspecttest.New()
	long := "eu-central-1.team-payments.very-long-domain-name.orders-enriched-with-customer-data.v12"
	w.Log(long+":0", 7100204, 8800431)
	w.Commit("g", long+":0", 5900120)
	r := look(t, w, inspect.Ask{Groups: []string{"g"}})
	o := options("table")
	o.Width = 100
	out := string(shown(t, r, o))
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 && !strings.Contains(line, "reset -g") && !strings.HasPrefix(line, "head-overflow") {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	for _, want := range []string{"8800431", "5900120", "reset -g g -t " + long + ":0 --repair", "eu-central-1", "v12 "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is gone from\n%s", want, out)
		}
	}
	o.Width = 0
	if out := string(shown(t, r, o)); !strings.Contains(out, long+"     0") {
		t.Errorf("names are whole where nobody looks:\n%s", out)
	}
}

func TestColour(t *testing.T) {
	plain, o := string(shown(t, billing(t), options("table"))), options("table")
	if strings.Contains(plain, "\x1b") {
		t.Error("colour without being told so")
	}
	o.Colour = true
	painted := string(shown(t, billing(t), o))
	if !strings.Contains(painted, "\x1b[31mhead-overflow") {
		t.Error("no colour")
	}
	if got := escapes.ReplaceAllString(painted, ""); got != plain {
		t.Errorf("colour changes more than colour:\n%s\n%s", got, plain)
	}
}

func TestQuiet(t *testing.T) {
	o := options("table")
	o.Quiet = true
	out := string(shown(t, billing(t), o))
	if strings.Contains(out, "prod-eu") || strings.Contains(out, "reset -g") || !strings.Contains(out, "head-overflow") {
		t.Errorf("\n%s", out)
	}
}

// TestBR12LargeNumbers: 64-bit numbers keep every digit in every format.
func TestBR12LargeNumbers(t *testing.T) {
	w := inspecttest.New()
	numbers := []string{"2623027957", "9007199254740993", "9223372036854775807"}
	for i, n := range []int64{2623027957, 9007199254740993, 9223372036854775807} {
		p := fmt.Sprint("orders:", i)
		w.Log(p, 0, 9007199254740993)
		w.Commit("g", p, n)
	}
	r := look(t, w, inspect.Ask{Groups: []string{"g"}})
	for _, format := range []string{"table", "wide", "json", "yaml", "csv"} {
		out := string(shown(t, r, options(format)))
		for _, n := range numbers {
			if !strings.Contains(out, n) {
				t.Errorf("%s: %s is not in\n%s", format, n, out)
			}
		}
		if strings.Contains(out, "e+") {
			t.Errorf("%s has an exponent", format)
		}
	}
	back, err := ParseReport(shown(t, r, options("json")))
	if err != nil {
		t.Fatal(err)
	}
	if n := back.Groups[0].Rows[2].Stored.Value.Next; n != 9223372036854775807 {
		t.Error(n)
	}
	var y map[string]any
	if err := yaml.Unmarshal(shown(t, r, options("yaml")), &y); err != nil {
		t.Fatal(err)
	}
}

// TestParseReport: what a comparison needs comes back as it was.
func TestParseReport(t *testing.T) {
	for name, r := range map[string]*inspect.Report{"one": billing(t), "several": several(t)} {
		t.Run(name, func(t *testing.T) {
			back, err := ParseReport(shown(t, r, options("json")))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprintf("%+v", back.Sample()), fmt.Sprintf("%+v", r.Sample()); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			same := inspect.Compare(back, r)
			if same.Verdict != r.Verdict || same.Groups[0].Counts != r.Groups[0].Counts {
				t.Errorf("compared with itself: %v", same.Groups[0].Counts)
			}
		})
	}
	for _, bad := range []string{"", "{}", `{"schema":"offsetctl.plan/v1"}`, `{"schema":"offsetctl.inspect/v1"}`, `{"schema":"offsetctl.inspect/v1","taken":"2026-11-30T02:14:07Z","groups":[{"partitions":[{"partition":"x"}]}]}`} {
		if _, err := ParseReport([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestCSVAndPrometheusAreReadable(t *testing.T) {
	lines, err := csv.NewReader(bytes.NewReader(shown(t, several(t), options("csv")))).ReadAll()
	if err != nil || len(lines) != 1+8+2+9 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(shown(t, several(t), options("prometheus"))))
	if err != nil {
		t.Fatal(err)
	}
	lags := families["offsetctl_partition_lag_records"].GetMetric()
	if len(lags) != 8+2+9-2 { // the unknown one and the one past the end have no lag, which is not 0
		t.Errorf("%d lags", len(lags))
	}
}

func TestEmptyReports(t *testing.T) {
	for name, a := range map[string]inspect.Ask{"no-groups": {}, "unknown-group": {Groups: []string{"biling"}}} {
		w := inspecttest.New()
		w.Caps.Members = true
		if name == "unknown-group" {
			w.Commit("billing", "x:0", 1)
		}
		r := look(t, w, a)
		for _, format := range []string{"table", "wide", "json", "yaml", "csv", "prometheus"} {
			shown(t, r, options(format))
		}
		golden(t, name+".table", shown(t, r, options("table")))
	}
}

func TestOddNames(t *testing.T) {
	w := inspecttest.New()
	w.Log("orders:0", 5, 10)
	name := "my group\n'x'"
	w.Commit(name, "orders:0", 1)
	out := string(shown(t, look(t, w, inspect.Ask{Groups: []string{name}}), options("table")))
	if !strings.Contains(out, `"my group\n'x'"  `) || !strings.Contains(out, `-g 'my group`+"\n"+`'\''x'\'''`) {
		t.Errorf("\n%s", out)
	}
}

func TestRawInWide(t *testing.T) {
	w := inspecttest.New()
	w.Log("orders:0", 0, 4)
	w.Store("g", "orders:0", offset.Result[offset.Stored]{Value: offset.Stored{State: offset.Set, Next: 4, Raw: []byte("3")}})
	out := string(shown(t, look(t, w, inspect.Ask{Groups: []string{"g"}}), options("wide")))
	if !strings.Contains(out, "RAW") || !strings.Contains(out, `"3"`) {
		t.Errorf("the raw and the converted value are both shown:\n%s", out)
	}
}

func TestWatch(t *testing.T) {
	w := inspecttest.New()
	w.Caps.Members = true
	var logs []*inspecttest.Log
	for i := range 3 {
		p := fmt.Sprint("orders:", i)
		logs = append(logs, w.Log(p, 0, 10000))
		w.Commit("billing", p, 5000)
	}
	m := offset.Member{ID: "m", Client: "pod-7", Host: "10.2.0.7", Owns: []offset.Partition{inspecttest.P("orders:0"), inspecttest.P("orders:1")}}
	w.Group(offset.Group{Name: "billing", Phase: offset.Live, Members: []offset.Member{m}})
	first := look(t, w, inspect.Ask{Groups: []string{"billing"}})
	w.Commit("billing", "orders:0", 9000)
	logs[0].Stable, logs[0].End = 10600, 10600
	logs[1].Stable, logs[1].End = 10300, 10300
	second := look(t, w, inspect.Ask{Groups: []string{"billing"}, Now: now.Add(time.Minute)})
	o := options("table")
	o.Every = 5 * time.Second
	var b bytes.Buffer
	if err := Watch(&b, []*inspect.Report{first}, o); err != nil {
		t.Fatal(err)
	}
	if err := Watch(&b, []*inspect.Report{first, second}, o); err != nil {
		t.Fatal(err)
	}
	w.Commit("billing", "orders:2", 5001)
	soon := look(t, w, inspect.Ask{Groups: []string{"billing"}, Now: now.Add(65 * time.Second)})
	if err := Watch(&b, []*inspect.Report{second, soon}, o); err != nil {
		t.Fatal(err)
	}
	golden(t, "watch.table", b.Bytes())
	b.Reset()
	o.Format = "json"
	if err := Watch(&b, []*inspect.Report{first, second}, o); err != nil || bytes.Count(b.Bytes(), []byte("\n")) != 1 || !bytes.Contains(b.Bytes(), []byte(`"inPerSecond":10,`)) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// full fails after so many bytes.
type full int

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if *f -= full(len(p)); *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteErrorsAreTold(t *testing.T) {
	for _, format := range []string{"table", "wide", "json", "yaml", "csv", "prometheus"} {
		for _, room := range []full{0, 300} {
			if err := Inspect(&room, billing(t), options(format)); !errors.Is(err, errFull) {
				t.Errorf("%s: %v", format, err)
			}
		}
	}
	if err := Inspect(&bytes.Buffer{}, billing(t), options("xml")); err == nil {
		t.Error("an unknown format was written")
	}
}

// TestRowByRow: what is written row by row is what the whole document would be.
func TestRowByRow(t *testing.T) {
	for name, r := range map[string]*inspect.Report{"one": billing(t), "several": several(t), "none": look(t, inspecttest.New(), inspect.Ask{}), "empty": look(t, inspecttest.New(), inspect.Ask{Groups: []string{"<g&>"}})} {
		var whole bytes.Buffer
		if err := JSON(&whole, newDocument(r, options("json"))); err != nil {
			t.Fatal(err)
		}
		if got := shown(t, r, options("json")); !bytes.Equal(got, whole.Bytes()) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, whole.Bytes())
		}
		back, err := yaml.YAMLToJSON(shown(t, r, options("yaml")))
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := errors.Join(json.Unmarshal(back, &a), json.Unmarshal(whole.Bytes(), &b)); err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the YAML says something else (%v):\n%s", name, err, shown(t, r, options("yaml")))
		}
	}
}
