package report

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"strings"
)

// A Fingerprint is what stays the same of a finding while lines move, list items change
// places, and charts and kustomizations generate other names. Different findings may have
// the same fingerprint: count them. It contains no value of an object.
type Fingerprint struct {
	File string `yaml:"file"`
	Rule string `yaml:"rule"`
	Kind string `yaml:"kind"`
	// Namespace and Name are those of an object whose author wrote them: charts and
	// kustomizations generate others.
	Namespace string `yaml:"namespace,omitempty"`
	Name      string `yaml:"name,omitempty"`
	Field     string `yaml:"field,omitempty"`
	// Message has an ellipsis in the place of values and generated names.
	Message string `yaml:"message"`
}

// hash identifies the fingerprint in reports.
func (f Fingerprint) hash() string {
	f.File = path.Clean(filepath.ToSlash(f.File))
	sum := sha256.Sum256([]byte(strings.Join([]string{f.File, f.Rule, f.Kind, f.Namespace, f.Name, f.Field, f.Message}, "\x00")))
	return hex.EncodeToString(sum[:16])
}
