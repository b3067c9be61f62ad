// Package render writes plain structs as tables, JSON, YAML, CSV and Prometheus text. It decides nothing: what is wrong and what
// it costs was judged before.
package render
