package config

import (
	"maps"

	"github.com/goccy/go-yaml"

	"github.com/offsetctl/offsetctl/address"
)

// Shown is an address without its secrets. One that cannot be read may have a secret anywhere, so nothing of it is shown.
func Shown(text string, parse func(string) (address.Address, error)) string {
	if text == "" {
		return ""
	}
	a, err := parse(text)
	if err != nil {
		return "*** (cannot be read, so it is not shown)"
	}
	return a.String()
}

// View is the file in its normal form with the secrets in it replaced by ***.
func (f File) View(parse func(string) (address.Address, error)) ([]byte, error) {
	show := func(text string) string { return Shown(text, parse) }
	out := File{CurrentContext: f.CurrentContext, Contexts: maps.Clone(f.Contexts)}
	for name, c := range out.Contexts {
		c.Broker, c.Store = show(c.Broker), show(c.Store)
		if isAddress(c.Journal) {
			c.Journal = show(c.Journal)
		}
		c.Stores = maps.Clone(c.Stores)
		for group, text := range c.Stores {
			c.Stores[group] = show(text)
		}
		out.Contexts[name] = c
	}
	return yaml.Marshal(out)
}
