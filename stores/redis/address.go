// Package redis keeps positions in Redis: a hash for each group and topic, or a string for each partition.
package redis

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/offsetctl/offsetctl/address"
	"github.com/offsetctl/offsetctl/offset"
	"github.com/offsetctl/offsetctl/stores/value"
)

// Form is a Redis address.
var Form = address.Form{
	Schemes: []string{"redis"}, Example: "redis://host:6379/0",
	Port: 6379, Many: true, Path: true, User: true, TLS: true,
	Options: []address.Option{
		{Name: "key", Value: "TEMPLATE", Help: "the keys: {group}, {topic} and, of type=string, {partition} are replaced, {{ and }} are braces. " + hashKey + " unless given, of type=string " + stringKey},
		{Name: "type", Value: "hash|string", Help: "hash (the default): a field for each partition, of RocketMQ BROKER-QUEUE; string: a key for each"},
		{Name: "value", Value: "next|last", Help: "whether the number is the next offset to read (the default) or the last one done"},
		{Name: "cluster", Value: "on|off", Help: "whether the hosts are some of a cluster's; on where there are several and master is not given"},
		{Name: "master", Value: "NAME", Help: "the hosts are sentinels, and this is what they call the master"},
		{Name: "sentinel-user", Value: "NAME", Help: "who logs in to the sentinels"},
		{Name: "sentinel-password", Value: "env:NAME|file:PATH|command:LINE", Help: "where the sentinels' password is found", Secret: true},
		{Name: "wait-replicas", Value: "N", Help: "a write is done when so many replicas have it; not for clusters"},
	},
}

// In both a group's keys lie in one slot of a cluster.
const (
	hashKey   = "{{{group}}}:{topic}"
	stringKey = "{{{group}}}:{topic}:{partition}"
)

// layout is how positions lie in keys.
type layout struct {
	parts   []part // of the key's template
	key     *regexp.Regexp
	strings bool // a key for each partition
	cluster bool
	number  value.Dialect
}

// part of a template: a text as it is, or one of the variables.
type part struct{ text, variable string }

func parseLayout(a address.Address) (layout, error) {
	l := layout{number: value.Dialect{Accept: value.Text, New: value.Text, Last: a.Get("value") == "last"}}
	for _, o := range []struct{ name, one, two string }{{"type", "hash", "string"}, {"value", "next", "last"}, {"cluster", "on", "off"}} {
		if v := a.Get(o.name); v != "" && v != o.one && v != o.two {
			return layout{}, fmt.Errorf("%w: %s=%s: it is %s or %s", offset.ErrConfig, o.name, v, o.one, o.two)
		}
	}
	l.strings = a.Get("type") == "string"
	l.cluster = a.Get("cluster") == "on" || a.Get("cluster") == "" && len(a.Hosts) > 1 && !a.Has("master")
	switch {
	case l.cluster && a.Has("master"):
		return layout{}, fmt.Errorf("%w: sentinels watch no cluster: leave cluster= or master= out", offset.ErrConfig)
	case l.cluster && a.Has("wait-replicas"):
		return layout{}, fmt.Errorf("%w: wait-replicas= is not for clusters", offset.ErrConfig)
	case !l.cluster && !a.Has("master") && len(a.Hosts) > 1:
		return layout{}, fmt.Errorf("%w: several hosts are a cluster's, or sentinels with master=", offset.ErrConfig)
	}
	template := a.Get("key")
	if template == "" {
		template = hashKey
		if l.strings {
			template = stringKey
		}
	}
	if err := l.template(template); err != nil {
		return layout{}, fmt.Errorf("%w: key=%s: %w", offset.ErrConfig, template, err)
	}
	return l, nil
}

// template reads the key's template, and makes the expression that reads keys.
func (l *layout) template(s string) error {
	count := map[string]int{}
	text := ""
	flush := func() {
		if text != "" {
			l.parts = append(l.parts, part{text: text})
		}
		text = ""
	}
	for len(s) > 0 {
		switch {
		case strings.HasPrefix(s, "{{"), strings.HasPrefix(s, "}}"):
			text, s = text+s[:1], s[2:]
		case s[0] == '{':
			name, rest, ok := strings.Cut(s[1:], "}")
			if !ok || name != "group" && name != "topic" && name != "partition" {
				return fmt.Errorf("{%s is neither {group}, {topic} nor {partition}; a brace is written twice", name)
			}
			flush()
			if len(l.parts) > 0 && l.parts[len(l.parts)-1].variable != "" {
				return fmt.Errorf("nothing stands between {%s} and {%s}", l.parts[len(l.parts)-1].variable, name)
			}
			l.parts, s = append(l.parts, part{variable: name}), rest
			count[name]++
		case s[0] == '}':
			return fmt.Errorf("a brace that ends nothing; it is written twice")
		default:
			text, s = text+s[:1], s[1:]
		}
	}
	flush()
	switch {
	case count["topic"] != 1:
		return fmt.Errorf("{topic} must stand in it once")
	case count["group"] > 1 || count["partition"] > 1:
		return fmt.Errorf("a variable stands in it twice")
	case l.strings != (count["partition"] == 1):
		return fmt.Errorf("{partition} belongs into the keys of type=string, and only there")
	}
	var e strings.Builder
	for _, p := range l.parts {
		switch p.variable {
		case "":
			e.WriteString(regexp.QuoteMeta(p.text))
		case "partition":
			e.WriteString("(?P<partition>(?:.+-)?[0-9]+)")
		case "topic": // as much as can be: separators are likelier in a topic than in a broker's name
			e.WriteString("(?P<topic>.*)")
		default:
			e.WriteString("(?P<" + p.variable + ">.*?)")
		}
	}
	var err error
	l.key, err = regexp.Compile("(?s)^" + e.String() + "$")
	return err
}

// grouped tells whether the keys name groups; otherwise the place is one group.
func (l layout) grouped() bool { return l.key.SubexpIndex("group") >= 0 }

// keyOf is the key of a position, field its field there ("" of type=string).
func (l layout) keyOf(group string, p offset.Partition) (key, field string) {
	node := fmt.Sprint(p.Index)
	if p.Broker != "" {
		node = p.Broker + "-" + node
	}
	key = l.fill(map[string]string{"group": group, "topic": p.Topic, "partition": node}, func(s string) string { return s })
	if l.strings {
		return key, ""
	}
	return key, node
}

// fill writes the template; text is what becomes of texts and of the variables that are given. Others are a pattern for anything.
func (l layout) fill(vars map[string]string, text func(string) string) string {
	var b strings.Builder
	for _, p := range l.parts {
		v, given := vars[p.variable]
		switch {
		case p.variable == "":
			b.WriteString(text(p.text))
		case given:
			b.WriteString(text(v))
		default:
			b.WriteString("*")
		}
	}
	return b.String()
}

// pattern is for SCAN: the group's keys, or everybody's. What comes back is looked at once more by parse.
func (l layout) pattern(group *string) string {
	vars := map[string]string{}
	if group != nil {
		vars["group"] = *group
	}
	return l.fill(vars, globEscaper.Replace)
}

var globEscaper = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "^", `\^`, "-", `\-`)

// parse reads a key. node is the partition's part of it.
func (l layout) parse(key string) (group, topic, node string, ok bool) {
	m := l.key.FindStringSubmatch(key)
	if m == nil {
		return "", "", "", false
	}
	of := func(name string) string {
		if i := l.key.SubexpIndex(name); i >= 0 {
			return m[i]
		}
		return ""
	}
	return of("group"), of("topic"), of("partition"), true
}

// parseNode reads the partition's part of a key, or a field.
func parseNode(topic, node string) (offset.Partition, bool) {
	p := offset.Partition{Topic: topic}
	if i := strings.LastIndexByte(node, '-'); i > 0 {
		p.Broker, node = node[:i], node[i+1:]
	}
	var ok bool
	p.Index, ok = offset.ParseIndex(node)
	return p, ok
}

// holds tells whether the key of a position is nobody else's: read back, it must name the same.
func (l layout) holds(group string, p offset.Partition) error {
	if p.Index < 0 || p.Topic == "" {
		return fmt.Errorf("%s %w: it names no partition", p, offset.ErrUnsupported)
	}
	key, node := l.keyOf(group, p)
	g, t, n, ok := l.parse(key)
	if l.strings {
		node = n
	}
	back, valid := parseNode(t, node)
	if !ok || !valid || back != p || l.grouped() && g != group {
		return fmt.Errorf("%s of group %q %w: its key %q would be another's too; choose a key= whose separators are in no name", p, group, offset.ErrUnsupported, key)
	}
	if l.cluster && l.together() == offset.PerGroup && tag(key) == key {
		return fmt.Errorf("group %q %w in a cluster: its keys %q have no tag that keeps them in one slot", group, offset.ErrUnsupported, key)
	}
	return nil
}

// tag is the part of a key that decides its slot: what stands between the first { and the next }, or all of it.
func tag(key string) string {
	_, rest, ok := strings.Cut(key, "{")
	if t, _, closed := strings.Cut(rest, "}"); ok && closed && t != "" {
		return t
	}
	return key
}

// together is how far one script reaches: as far as keys share a slot.
func (l layout) together() offset.Extent {
	one := func(topic string, index int32) string {
		key, _ := l.keyOf("g", offset.Partition{Topic: topic, Index: index})
		return tag(key)
	}
	switch {
	case !l.cluster, one("a", 0) == one("b", 1):
		return offset.PerGroup
	case one("a", 0) == one("a", 1):
		return offset.PerTopic
	}
	return offset.EachAlone
}
