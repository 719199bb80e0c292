// Command dockerfile parses a Dockerfile like BuildKit and prints what its last
// stage runs, and the commands of the other stages, as JSON. BuildKit's
// warnings are errors.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// result is the image's base, user and entrypoint, and each command.
type result struct {
	Base, User string
	Entrypoint []string
	Runs       []string
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
	for _, stage := range stages {
		out.Base = stage.BaseName
		for _, command := range stage.Commands {
			switch c := command.(type) {
			case *instructions.RunCommand:
				out.Runs = append(out.Runs, c.CmdLine...)
			case *instructions.UserCommand:
				out.User = c.User
			case *instructions.EntrypointCommand:
				out.Entrypoint = c.CmdLine
			}
		}
	}
	return out, nil
}
