// Command dockerfile parses a Dockerfile like BuildKit and prints its stages as
// JSON. BuildKit's warnings are errors.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

type result struct{ Stages []stage }

// A stage is an image: its base, what it copies from another stage, as FROM:TO,
// and what it runs.
type stage struct {
	Name, Base, User         string
	Entrypoint, Copies, Runs []string
}

func main() {
	out, err := read(os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(file string) (*result, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	parsed, err := parser.Parse(f)
	if err != nil {
		return nil, err
	}
	var warnings []error
	for _, w := range parsed.Warnings {
		warnings = append(warnings, errors.New(w.Short))
	}
	stages, _, err := instructions.Parse(parsed.AST, linter.New(&linter.Config{
		Warn: func(rule, _, _, message string, _ []parser.Range) {
			warnings = append(warnings, fmt.Errorf("%s: %s", rule, message))
		},
	}))
	if err := errors.Join(append(warnings, err)...); err != nil {
		return nil, err
	}
	out := &result{}
	for _, s := range stages {
		of := stage{Name: s.Name, Base: s.BaseName}
		for _, command := range s.Commands {
			switch c := command.(type) {
			case *instructions.RunCommand:
				of.Runs = append(of.Runs, c.CmdLine...)
			case *instructions.CopyCommand:
				if c.From == "" {
					continue // of the source
				}
				for _, path := range c.SourcePaths {
					to := c.DestPath
					if strings.HasSuffix(to, "/") {
						to += filepath.Base(path)
					}
					of.Copies = append(of.Copies, path+":"+to)
				}
			case *instructions.UserCommand:
				of.User = c.User
			case *instructions.EntrypointCommand:
				of.Entrypoint = c.CmdLine
			}
		}
		out.Stages = append(out.Stages, of)
	}
	return out, nil
}
