package sql

import (
	"log/slog"
	"time"

	"github.com/offsetctl/offsetctl/offset"
)

func quiet() offset.Env {
	return offset.Env{Log: slog.New(slog.DiscardHandler), Now: time.Now}
}
