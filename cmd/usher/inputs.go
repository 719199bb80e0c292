package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/config"
)

// configuration reads the given configuration, or the one of this directory or
// a parent.
func configuration(path string) (*config.Configuration, error) {
	c, _, err := located(path)
	return c, err
}

// located is configuration, along with the folder of the file.
func located(path string) (c *config.Configuration, folder string, err error) {
	if path != "" {
		c, err = config.Load(path)
	} else {
		c, path, err = config.Nearest(".")
	}
	return c, filepath.Dir(path), err
}

// skips reports which files the configuration of a folder excludes.
func skips(c *config.Configuration, folder string) (func(file string) bool, error) {
	excludes, err := c.Paths.Excludes()
	if err != nil || len(c.Paths.Exclude) == 0 {
		return nil, err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	return func(file string) bool {
		file, err := filepath.Abs(file)
		if err != nil {
			return false
		}
		path, err := filepath.Rel(folder, file)
		return err == nil && excludes(filepath.ToSlash(path))
	}, nil
}

// policiesIn reads the admission policies that the configuration of a folder names.
func policiesIn(ctx context.Context, c *config.Configuration, folder string) ([]*manifest.Document, error) {
	var docs []*manifest.Document
	for _, path := range c.Paths.Policies {
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		found, errs := read(ctx, []string{path}, nil)
		if len(found) == 0 && len(errs) == 0 {
			errs = append(errs, withoutObjects([]string{path}))
		}
		if err := errors.Join(errs...); err != nil {
			return nil, fmt.Errorf("paths.policies of the configuration: %w", err)
		}
		docs = append(docs, found...)
	}
	return docs, nil
}

// inputPaths returns the paths that a command reads: its arguments, and the values of
// -f.
func inputPaths(args, files []string) ([]string, error) {
	paths := slices.Concat(args, files)
	if len(paths) == 0 {
		return nil, errors.New("name the files or folders to read, or pass - for standard input")
	}
	return paths, nil
}

// read reads every document in the paths, until the context ends.
func read(ctx context.Context, paths []string, stdin io.Reader) ([]*manifest.Document, []error) {
	files, errs := manifest.Files(paths)
	var docs []*manifest.Document
	for _, file := range files {
		if ctx.Err() != nil {
			return nil, []error{context.Cause(ctx)}
		}
		d, e := manifest.ReadFile(file, stdin)
		docs, errs = append(docs, d...), append(errs, e...)
	}
	return docs, errs
}

// readTemplates reads the files that were given as templates. A path without a
// document is an error: the objects would lack the template that it should have.
func readTemplates(ctx context.Context, paths []string, stdin io.Reader) (docs []*manifest.Document, errs []error) {
	for _, path := range paths {
		d, e := read(ctx, []string{path}, stdin)
		if len(d) == 0 && len(e) == 0 {
			e = []error{withoutObjects([]string{path})}
		}
		docs, errs = append(docs, d...), append(errs, e...)
	}
	return docs, errs
}

// expectStdin checks that at most one of the paths is standard input, and tells
// a user at a terminal that the command waits for manifests.
func expectStdin(s streams, paths ...[]string) error {
	given := 0
	for _, path := range slices.Concat(paths...) {
		if path == manifest.Stdin {
			given++
		}
	}
	switch {
	case given > 1:
		return errors.New(`standard input ("-") is given twice: write one of the inputs to a file`)
	case given == 1 && terminal(s.in):
		fmt.Fprintln(s.err, "Reading manifests from the terminal. Press Ctrl-D after the last line, or Ctrl-C to stop.")
	}
	return nil
}

// withoutObjects describes paths that contain no document.
func withoutObjects(paths []string) error {
	var errs []error
	for _, path := range paths {
		switch {
		case path == manifest.Stdin:
			errs = append(errs, errors.New("standard input contains no manifests: pipe them into usher, and check that the command before it succeeds"))
		case isFolder(path):
			errs = append(errs, &manifest.Error{File: path, Err: errors.New("the folder contains no manifests: write them into files that end in .yaml, .yml or .json")})
		default:
			errs = append(errs, &manifest.Error{File: path, Err: errors.New("the file contains no manifests: write an object with apiVersion, kind and metadata.name")})
		}
	}
	return errors.Join(errs...)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
