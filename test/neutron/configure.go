package neutron

import (
	"crypto/rand"
	"embed"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"text/template"
)

// files are the programs' configuration, as templates of settings, and their
// start scripts.
//
//go:embed files
var files embed.FS

// settings are the values that differ between runs.
type settings struct {
	Dir      string
	Port     string
	AuthURL  string
	Password string
}

// configure writes the programs' configuration and the keys of Keystone's
// tokens into the folder.
func configure(dir string, s settings) error {
	for _, sub := range []string{"lock", "fernet"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	// Like `keystone-manage fernet_setup`: 0 staged, 1 primary.
	for _, name := range []string{"0", "1"} {
		key := make([]byte, 32)
		if _, err := rand.Read(key); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "fernet", name), []byte(base64.URLEncoding.EncodeToString(key)), 0o600); err != nil {
			return err
		}
	}
	return render(dir, s)
}

// render writes the files.
func render(dir string, s settings) error {
	all, err := template.ParseFS(files, "files/*")
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(files, "files")
	if err != nil {
		return err
	}
	for _, e := range entries {
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		if err := all.ExecuteTemplate(f, e.Name(), s); err != nil {
			f.Close()
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
