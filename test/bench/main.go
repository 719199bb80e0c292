// Command bench compares usher with a baseline: a TLS server that reads the body
// and echoes the uid. It writes the results to docs/performance.md. With -against
// it compares usher with another build of itself; with -short it fails where a
// review takes more processor time than in the previous release.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/usher-dev/usher/test/previous"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == "baseline" {
		exit(baselineMain(os.Args[2], os.Args[3]))
	}
	short := flag.Bool("short", false, "only compare the processor time of a review with the previous release's, and fail where it is more; writes nothing")
	commandLine := flag.String("usher", "bin/usher", "usher's command line")
	server := flag.String("server", "bin/usher-entrypoint", "usher's server: a program whose first argument is webhook")
	only := flag.String("only", "", "parts to measure, separated by commas: serving,admission,growth,memory,offline (default all)")
	against := flag.String("against", "", "only measure the processor time of a review against another program, in turns: a file, or a commit whose server is built; writes nothing")
	others := peers{}
	flag.Var(others, "peer", "with -against: also measure this program, NAME=PROGRAM (repeat the flag for others)")
	rounds := flag.Int("rounds", 0, "rounds of each server for each kind of work (default 7, with -against 5)")
	lasts := flag.Duration("round", 500*time.Millisecond, "how long a round lasts")
	objects := flag.Int("objects", 20000, "objects to fill the cluster with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case *short:
		exit(runAgainst(ctx, *server, cmp.Or(*against, previous.Commit), nil, (*bench).guard))
	case *against != "":
		exit(runAgainst(ctx, *server, *against, others, func(b *bench, ctx context.Context, d duel) error {
			b.rounds = cmp.Or(*rounds, 5)
			return b.against(ctx, d)
		}))
	}
	exit(run(ctx, *commandLine, *server, *only, cmp.Or(*rounds, 7), *objects, *lasts))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A part is one section of the report: it writes its results and plots.
type part struct {
	name    string
	cluster bool // needs one
	fresh   bool // needs an unused one
	measure func(context.Context, *bench) (section, error)
}

// A section is the result of a part, in Markdown.
type section struct{ text string }

func run(ctx context.Context, commandLine, server, only string, rounds, objects int, lasts time.Duration) error {
	commandLine, err := filepath.Abs(commandLine)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "usher-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	parts := []part{
		{name: "offline", measure: func(ctx context.Context, b *bench) (section, error) { return offline(ctx, commandLine, b.folder) }},
		{name: "serving", cluster: true, measure: serving},
		{name: "admission", cluster: true, measure: admission},
		{name: "growth", cluster: true, measure: growth},
		{name: "memory", cluster: true, fresh: true, measure: func(ctx context.Context, b *bench) (section, error) { return filled(ctx, b, objects) }},
	}
	var b *bench
	for _, p := range parts {
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format(time.TimeOnly), p.name)
		if p.fresh && b != nil {
			b.stop()
			b = nil
		}
		if p.cluster && b == nil {
			if b, err = start(ctx, folder, server); err != nil {
				return err
			}
			defer b.stop()
			b.rounds, b.lasts = rounds, lasts
		}
		against := b
		if against == nil {
			against = &bench{folder: folder}
		}
		s, err := p.measure(ctx, against)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if err := s.write("docs", p.name); err != nil {
			return err
		}
	}
	return nil
}
