package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Suffixes of files next to a backup's file: an incomplete backup, and its
// metadata.
const (
	suffixPartial = ".partial"
	suffixAbout   = ".about.json"
)

// A Folder stores backups as files, such as on a PersistentVolume. A file gets
// its name once it is complete and on the disk.
type Folder struct{ root *os.Root }

// OpenFolder opens the store in an existing folder. Keys cannot lead out of it,
// whatever links it contains.
func OpenFolder(path string) (*Folder, error) {
	root, err := os.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Errorf(NoBucket, "the folder %s does not exist: %w", path, err)
	}
	if err != nil {
		return nil, Errorf(Unavailable, "opening the folder %s: %w", path, err)
	}
	return &Folder{root}, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Put implements Store.
func (f *Folder) Put(_ context.Context, key string, about About, r io.Reader) error {
	if dir := filepath.Dir(key); dir != "." {
		if err := f.root.MkdirAll(dir, 0o700); err != nil {
			return f.explain(err, "making the folder of", key)
		}
	}
	said, err := json.Marshal(about.Encode())
	if err != nil {
		return err
	}
	if err := f.write(key+suffixPartial, r); err != nil {
		return err
	}
	if err := f.write(key+suffixAbout, bytes.NewReader(said)); err != nil {
		return err
	}
	if err := f.root.Rename(key+suffixPartial, key); err != nil {
		return f.explain(err, "saving", key)
	}
	return f.syncFolder(filepath.Dir(key))
}

// write writes a file to the disk, or leaves none.
func (f *Folder) write(name string, r io.Reader) (err error) {
	file, err := f.root.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return f.explain(err, "saving", name)
	}
	defer func() {
		file.Close()
		if err != nil {
			err = errors.Join(err, f.root.Remove(name))
		}
	}()
	if _, err := io.Copy(file, r); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return f.explain(err, "saving", name)
	}
	return nil
}

// syncFolder makes the names in a folder durable.
func (f *Folder) syncFolder(name string) error {
	dir, err := f.root.Open(name)
	if err != nil {
		return f.explain(err, "opening", name)
	}
	defer dir.Close()
	return f.explain(dir.Sync(), "saving", name)
}

// Get implements Store.
func (f *Folder) Get(ctx context.Context, key string) (io.ReadCloser, *Object, error) {
	o, err := f.Stat(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	file, err := f.root.Open(key)
	if err != nil {
		return nil, nil, f.explain(err, "opening", key)
	}
	return file, o, nil
}

// Stat implements Store.
func (f *Folder) Stat(_ context.Context, key string) (*Object, error) {
	info, err := f.root.Stat(key)
	if err != nil {
		return nil, f.explain(err, "looking for", key)
	}
	if !info.Mode().IsRegular() {
		return nil, Errorf(NotFound, "looking for %s: it is not a file", key)
	}
	o := &Object{Key: key, Size: info.Size(), Modified: info.ModTime()}
	if text, err := f.root.ReadFile(key + suffixAbout); err == nil {
		var said map[string]string
		if json.Unmarshal(text, &said) == nil { // unreadable metadata is treated as missing
			o.About = DecodeAbout(said)
		}
	}
	return o, nil
}

// List implements Store.
func (f *Folder) List(ctx context.Context, prefix string) ([]Object, error) {
	var all []Object
	err := fs.WalkDir(f.root.FS(), filepath.Dir(prefix), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && !strings.HasPrefix(path+"/", prefix) && !strings.HasPrefix(prefix, path+"/") && path != ".":
			return fs.SkipDir
		case !entry.Type().IsRegular() || !strings.HasPrefix(path, prefix),
			strings.HasSuffix(path, suffixPartial), strings.HasSuffix(path, suffixAbout):
			return nil
		}
		o, err := f.Stat(ctx, path)
		if err != nil {
			return err
		}
		all = append(all, *o)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, f.explain(err, "listing", prefix)
}

// Delete implements Store.
func (f *Folder) Delete(_ context.Context, key string) error {
	for _, name := range []string{key, key + suffixAbout} {
		if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return f.explain(err, "deleting", name)
		}
	}
	return nil
}

func (f *Folder) explain(err error, doing, name string) error {
	switch {
	case err == nil || ReasonOf(err) != "":
		return err
	case errors.Is(err, fs.ErrNotExist):
		return Errorf(NotFound, "%s %s: it does not exist: %w", doing, name, err)
	case errors.Is(err, fs.ErrPermission):
		return Errorf(Denied, "%s %s: %w", doing, name, err)
	}
	return Errorf(Unavailable, "%s %s: %w", doing, name, err)
}
