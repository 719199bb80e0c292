package components

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"syscall"
)

// A store is the folder of the binaries of one module. Its name is derived from
// all inputs of the binaries, so that another version has another folder, and a
// change to one module does not affect the binaries of the others.
type store struct {
	dir string // of the binaries
	src string // of the module
}

// openStore makes the store of a module.
func openStore(module string) (store, error) {
	src, err := source()
	if err != nil {
		return store{}, err
	}
	s := store{src: filepath.Join(src, module)}
	base, err := cacheDir()
	if err != nil {
		return store{}, err
	}
	sum := sha256.New()
	err = filepath.WalkDir(s.src, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintln(sum, filepath.Base(path), len(data))
		_, err = sum.Write(data)
		return err
	})
	if err != nil {
		return store{}, fmt.Errorf("reading the module %s: %w", module, err)
	}
	fmt.Fprintln(sum, goruntime.Version(), goruntime.GOOS, goruntime.GOARCH)
	s.dir = filepath.Join(base, fmt.Sprintf("%s-%x", module, sum.Sum(nil)[:8]))
	return s, os.MkdirAll(s.dir, 0o755)
}

// has says whether the component was built.
func (s store) has(c component) bool {
	_, err := os.Stat(filepath.Join(s.dir, c.binary()))
	return err == nil
}

// lock waits until no other process builds in the store.
func (s store) lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	return func() { f.Close() }, nil
}

// link creates a folder with all of the binaries, as callers expect. Its name
// is derived from the stores.
func link(binaries []string) (string, error) {
	base, err := cacheDir()
	if err != nil {
		return "", err
	}
	var stores []string
	for _, path := range binaries {
		stores = append(stores, filepath.Base(filepath.Dir(path)))
	}
	slices.Sort(stores)
	sum := sha256.New()
	for _, name := range slices.Compact(stores) {
		fmt.Fprintln(sum, name)
	}
	dir := filepath.Join(base, fmt.Sprintf("bin-%x", sum.Sum(nil)[:8]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, path := range binaries {
		err := os.Symlink(path, filepath.Join(dir, filepath.Base(path)))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return dir, nil
}

func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "usher", "cluster"), nil
}

// source is the folder of this file, in which the modules are.
func source() (string, error) {
	_, file, _, _ := goruntime.Caller(0)
	if !filepath.IsAbs(file) {
		return "", errors.New("the folder of the modules is not known; build without -trimpath")
	}
	return filepath.Dir(file), nil
}
