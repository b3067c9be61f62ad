package cmd

import "github.com/offsetctl/offsetctl/internal/render"

// header is the first line of what people read; the survey fills in what the broker says of itself.
func (f *factory) header(st *place) render.Header {
	h := render.Header{Store: st.title}
	if s, err := f.settings(); err == nil {
		h.Context = s.Context
	}
	h.BrokersUnknown = f.expected.by != nil && f.expected.names == 0
	return h
}
