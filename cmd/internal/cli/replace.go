package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// ReplaceFile writes a file, or leaves what was there before: a reader never
// sees a part of it. It writes into pipes and devices directly.
func ReplaceFile(path string, write func(io.Writer) error) (err error) {
	mode := fs.FileMode(0)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder; write the path of a file", path)
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	case err == nil:
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return err // the link stays, and its target is replaced
		}
		if f, err := os.OpenFile(path, os.O_WRONLY, 0); err != nil {
			return err // a file that is read-only stays as it is
		} else if err := f.Close(); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	next := fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32())
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return named(err, path)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(next)
		}
	}()
	if err = errors.Join(write(f), f.Close()); err != nil {
		return named(err, path)
	}
	if mode != 0 {
		if err = os.Chmod(next, mode); err != nil {
			return err
		}
	}
	return os.Rename(next, path)
}

// named gives an error about the temporary file the path that the user wrote.
func named(err error, path string) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return fmt.Errorf("%s: %w", path, of.Err)
	}
	return err
}
