package main

import (
	"path/filepath"

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
