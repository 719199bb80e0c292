package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FileName is the name of the configuration in a repository.
const FileName = ".usher.yaml"

// Name of the configuration in a cluster: the ConfigMap in usher's namespace,
// and its key.
const (
	ConfigMapName = "usher"
	ConfigMapKey  = "config.yaml"
	// LastValidName is the ConfigMap of the last valid configuration, with the
	// same key, which usher itself writes.
	LastValidName = "usher-last-valid"
)

// maxBytes limits a configuration: the maximum size of a ConfigMap.
const maxBytes = 1 << 20

// Load reads a configuration from a file.
func Load(path string) (*Configuration, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("configuration %s does not exist", path)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxBytes)
	}
	c, err := Parse(data)
	if err != nil {
		return nil, inFile(path, err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding the folder of %s: %w", path, err)
	}
	c.Folder = filepath.Dir(abs)
	return c, nil
}

// inFile names a file in front of each problem, and its line if it is known.
func inFile(path string, err error) error {
	var list problems
	if !errors.As(err, &list) {
		return fmt.Errorf("%s: %w", path, err)
	}
	var errs []error
	for _, err := range list {
		var at *placed
		switch {
		case !errors.As(err, &at):
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		case at.line == 0:
			errs = append(errs, fmt.Errorf("%s: %s", path, at.problem()))
		default:
			errs = append(errs, fmt.Errorf("%s:%d: %s", path, at.line, at.problem()))
		}
	}
	return errors.Join(errs...)
}

// Nearest reads the configuration of the first folder, from dir upwards, that
// has one. If none has, it returns the default and an empty path.
func Nearest(dir string) (c *Configuration, path string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, "", fmt.Errorf("looking for %s: %w", FileName, err)
	}
	for {
		path = filepath.Join(dir, FileName)
		_, err := os.Stat(path)
		if err == nil {
			c, err := Load(path)
			return c, path, err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, path, fmt.Errorf("looking for %s: %w", FileName, err)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return Default(), "", nil
		}
		dir = parent
	}
}
