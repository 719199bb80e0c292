package server

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
)

// Logging configures the log of a server.
type Logging struct {
	level  string
	format string
}

// Register adds the flags of the log.
func (l *Logging) Register(f *pflag.FlagSet) {
	f.StringVar(&l.level, "log-level", "info", "debug, info, warn or error; debug logs decisions that changed nothing")
	f.StringVar(&l.format, "log-format", "json", "json or text")
}

// Logger returns the log, which writes to w.
func (l *Logging) Logger(w io.Writer) (logr.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return logr.Logger{}, fmt.Errorf("--log-level is %q; write debug, info, warn or error", l.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch l.format {
	case "json":
		return logr.FromSlogHandler(slog.NewJSONHandler(w, options)), nil
	case "text":
		return logr.FromSlogHandler(slog.NewTextHandler(w, options)), nil
	}
	return logr.Logger{}, fmt.Errorf("--log-format is %q; write json or text", l.format)
}
