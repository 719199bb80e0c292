package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/migrate"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/finding"
)

func newMigrate(s streams) *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use:   "migrate PATH... | -f FILE",
		Short: "Convert InitializerConfigurations to webhook configurations",
		Long: `migrate reads InitializerConfigurations, which Kubernetes had until 1.13, and
prints the MutatingWebhookConfigurations that do the same today, with a comment
where webhooks have no equivalent.

They are for review, or for other webhooks: "usher webhook" registers its own
configuration. Documents of other kinds are skipped and listed on stderr.

Exit status: 0 converted, 1 something could not be converted, 2 bad usage or
input that cannot be read.`,
		ValidArgsFunction: cli.Manifests,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := inputPaths(args, files)
			if err == nil {
				err = expectStdin(s, paths)
			}
			if err != nil {
				return err
			}
			return runMigrate(cmd.Context(), s, paths)
		},
	}
	cli.Filenames(cmd, &files, "InitializerConfigurations")
	cli.WithoutSelection(cmd)
	cli.WithoutCluster(cmd, "it reads files; InitializerConfigurations have no namespace")
	return cmd
}

// migration is a run over all inputs.
type migration struct {
	streams
	converted, skipped, problems, unreadable int
}

func runMigrate(ctx context.Context, s streams, paths []string) error {
	m := &migration{streams: s}
	for _, path := range paths {
		docs, errs := read(ctx, []string{path}, s.in)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, err := range errs {
			fmt.Fprintln(s.err, err)
		}
		m.unreadable += len(errs)
		if len(docs) == 0 && len(errs) == 0 {
			fmt.Fprintln(s.err, withoutObjects([]string{path}))
			m.unreadable++
			continue
		}
		objects := 0
		for _, doc := range docs {
			if doc.IsObject() {
				objects++
			}
			if err := m.document(doc); err != nil {
				return err
			}
		}
		if objects == 0 && len(errs) == 0 {
			fmt.Fprintf(s.err, "%s: contains no Kubernetes object\n", path)
			m.unreadable++
		}
	}
	fmt.Fprintf(s.err, "%d converted, %d skipped, %s, %s\n", m.converted, m.skipped, finding.Count(m.problems, "problem"), finding.Count(m.unreadable, "reading error"))
	switch {
	case m.unreadable > 0:
		return cli.Exit(cli.Usage, nil)
	case m.problems > 0:
		return cli.Exit(cli.Failed, nil)
	}
	return nil
}

func (m *migration) document(doc *manifest.Document) error {
	if group, _, _ := strings.Cut(doc.APIVersion, "/"); group != migrate.Group || doc.Kind != migrate.Kind {
		m.skipped++
		what := "not a Kubernetes object"
		if doc.IsObject() {
			what = doc.String() + " is not an " + migrate.Kind
		}
		fmt.Fprintf(m.err, "%s:%d: %s; skipped\n", doc.File, doc.Line, what)
		return nil
	}
	result, err := migrate.Convert(doc.JSON)
	var whole migrate.Problem
	if errors.As(err, &whole) {
		m.problem(doc, whole)
		return nil
	}
	if err != nil {
		return err
	}
	for _, p := range result.Problems {
		m.problem(doc, p)
	}
	if len(result.Configuration.Webhooks) == 0 {
		return nil
	}
	text, err := result.YAML()
	if err != nil {
		return err
	}
	if m.converted > 0 {
		fmt.Fprintln(m.out, "---")
	}
	m.converted++
	_, err = m.out.Write(text)
	return err
}

func (m *migration) problem(doc *manifest.Document, p migrate.Problem) {
	m.problems++
	line, column := doc.Position(p.Path)
	fmt.Fprintf(m.err, "%s:%d:%d: %v\n", doc.File, line, column, p)
}
