package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// The editing functions answer the file's new text. Comments and order stay as far as they can, and the new text is read again:
// if it does not say exactly what it should, nothing is changed and the error says so.

// UseContext makes a context the current one.
func UseContext(data []byte, name string) ([]byte, error) {
	f, err := Parse(data)
	if err != nil {
		return nil, err
	}
	if _, ok := f.Contexts[name]; !ok {
		return nil, f.noContext(name)
	}
	want := f
	want.CurrentContext = name
	text, err := scalar(name)
	if err != nil {
		return nil, err
	}
	if at := currentLine.FindSubmatchIndex(data); at != nil {
		return checked(slices.Concat(data[:at[2]], []byte("current-context: "+text), data[at[3]:]), want)
	}
	return checked(slices.Concat([]byte("current-context: "+text+"\n"), data), want)
}

// currentLine finds the member at the top, its value without the comment behind it.
var currentLine = regexp.MustCompile(`(?m)^(current-context:[ \t]*(?:"[^"\n]*"|'[^'\n]*'|[^\s#"'][^\s#]*)?)[ \t]*(?:#.*)?\r?$`)

// scalar writes a text as YAML.
func scalar(s string) (string, error) {
	b, err := yaml.Marshal(s)
	return string(bytes.TrimSpace(b)), err
}

// SetContext adds a context, or replaces it as a whole.
func SetContext(data []byte, name string, c Context) ([]byte, error) {
	f, err := Parse(data)
	if err != nil {
		return nil, err
	}
	want := f
	want.Contexts = maps.Clone(f.Contexts)
	if want.Contexts == nil {
		want.Contexts = map[string]Context{}
	}
	want.Contexts[name] = c
	if err := want.check(); err != nil {
		return nil, err
	}
	entry, err := yaml.Marshal(map[string]Context{name: c})
	if err != nil {
		return nil, err
	}
	if len(f.Contexts) == 0 {
		if !bytes.HasSuffix(data, []byte("\n")) && len(data) > 0 {
			data = append(slices.Clone(data), '\n')
		}
		entry, err = yaml.Marshal(map[string]map[string]Context{"contexts": {name: c}})
		if err != nil {
			return nil, err
		}
		return checked(slices.Concat(data, entry), want)
	}
	return edited(data, want, func(tree *ast.File) bool {
		return new(yaml.PathBuilder).Root().Child("contexts").Build().MergeFromReader(tree, bytes.NewReader(entry)) == nil
	})
}

// DeleteContext takes a context out that is not the current one.
func DeleteContext(data []byte, name string) ([]byte, error) {
	f, err := Parse(data)
	if err != nil {
		return nil, err
	}
	if _, ok := f.Contexts[name]; !ok {
		return nil, f.noContext(name)
	}
	if f.CurrentContext == name {
		return nil, fmt.Errorf("context %s is the current one: use another first", name)
	}
	want := f
	want.Contexts = maps.Clone(f.Contexts)
	delete(want.Contexts, name)
	return edited(data, want, func(tree *ast.File) bool {
		contexts := mapping(top(tree), "contexts")
		if contexts == nil {
			return false
		}
		contexts.Values = slices.DeleteFunc(contexts.Values, func(v *ast.MappingValueNode) bool { return v.Key.GetToken().Value == name })
		if len(contexts.Values) == 0 {
			contexts.IsFlowStyle = true // {}: an empty block is no text
		}
		return true
	})
}

// ForgetBroker takes a broker out of those that a context expects.
func ForgetBroker(data []byte, name, broker string) ([]byte, error) {
	f, err := Parse(data)
	if err != nil {
		return nil, err
	}
	c, ok := f.Contexts[name]
	if !ok {
		return nil, f.noContext(name)
	}
	if !slices.Contains(c.Brokers, broker) {
		return nil, fmt.Errorf("context %s does not expect a broker %s", name, broker)
	}
	want := f
	want.Contexts = maps.Clone(f.Contexts)
	c.Brokers = slices.DeleteFunc(slices.Clone(c.Brokers), func(b string) bool { return b == broker })
	want.Contexts[name] = c
	return edited(data, want, func(tree *ast.File) bool {
		list, ok := value(mapping(mapping(top(tree), "contexts"), name), "brokers").(*ast.SequenceNode)
		if !ok {
			return false
		}
		keep := *list
		list.Values, list.ValueHeadComments, list.Entries = nil, nil, nil
		for i, v := range keep.Values {
			if v.GetToken().Value == broker {
				continue
			}
			list.Values = append(list.Values, v)
			if i < len(keep.ValueHeadComments) {
				list.ValueHeadComments = append(list.ValueHeadComments, keep.ValueHeadComments[i])
			}
			if i < len(keep.Entries) {
				list.Entries = append(list.Entries, keep.Entries[i])
			}
		}
		return true
	})
}

func (f File) noContext(name string) error {
	if len(f.Contexts) == 0 {
		return fmt.Errorf("there is no context %q, nor any other: offsetctl config set-context %s --broker ADDRESS makes it", name, name)
	}
	return fmt.Errorf("there is no context %q; there are %q", name, f.Names())
}

var errByHand = errors.New("the configuration file is written in a way that cannot be changed safely from here: change it by hand")

// edited changes the tree of the file.
func edited(data []byte, want File, change func(*ast.File) bool) ([]byte, error) {
	var text string
	if err := guarded(func() error {
		tree, err := parser.ParseBytes(data, parser.ParseComments)
		if err != nil {
			return plain(err)
		}
		if !change(tree) {
			return errByHand
		}
		text = tree.String()
		return nil
	}); err != nil {
		return nil, err
	}
	return checked([]byte(text), want)
}

// top is the mapping that the file is, nil where it is something else.
func top(tree *ast.File) *ast.MappingNode {
	if len(tree.Docs) == 0 {
		return nil
	}
	m, _ := tree.Docs[0].Body.(*ast.MappingNode)
	return m
}

// checked makes sure that the new text says what it should.
func checked(data []byte, want File) ([]byte, error) {
	got, err := Parse(data)
	if err != nil || !reflect.DeepEqual(normal(got), normal(want)) {
		return nil, errByHand
	}
	return data, nil
}

// normal is f with empty lists and maps as nil.
func normal(f File) File {
	out := f
	out.Contexts = map[string]Context{}
	for name, c := range f.Contexts {
		if len(c.Brokers) == 0 {
			c.Brokers = nil
		}
		if len(c.Stores) == 0 {
			c.Stores = nil
		}
		out.Contexts[name] = c
	}
	return out
}

// value is a member of a mapping, nil where there is none.
func value(m *ast.MappingNode, key string) ast.Node {
	if m == nil {
		return nil
	}
	for _, v := range m.Values {
		if v.Key.GetToken().Value == key {
			return v.Value
		}
	}
	return nil
}

func mapping(m *ast.MappingNode, key string) *ast.MappingNode {
	inner, _ := value(m, key).(*ast.MappingNode)
	return inner
}
