// Package baseline keeps findings that a repository accepts for now, so that only new
// ones are reported.
package baseline

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/usher-dev/usher/cli/manifest"
	"github.com/usher-dev/usher/cli/report"
	"github.com/usher-dev/usher/yaml/syntax"
)

// version is the version of the format. Version 1 had no names of objects.
const version, unnamed = 2, 1

// maxBytes limits the size of a baseline.
const maxBytes = 64 << 20

// A Baseline counts findings by their fingerprints. Paths in the file are relative to
// its folder, so that they do not depend on where usher runs.
type Baseline struct {
	folder string
	counts map[report.Fingerprint]int
	// unnamed is true if the entries have no names of objects.
	unnamed bool
}

// document is the content of the file.
type document struct {
	Version  int     `yaml:"version"`
	Findings []entry `yaml:"findings"`
}

// entry is the findings with one fingerprint.
type entry struct {
	report.Fingerprint `yaml:",inline"`
	// Count is how many there are; 0 means one.
	Count int `yaml:"count,omitempty"`
}

// New returns an empty baseline, to be written to a path.
func New(path string) (*Baseline, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding the folder of %s: %w", path, err)
	}
	return &Baseline{folder: filepath.Dir(abs), counts: map[report.Fingerprint]int{}}, nil
}

// Load reads a baseline.
func Load(path string) (*Baseline, error) {
	b, err := New(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the baseline %s does not exist: write it with --write-baseline %s", path, path)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the baseline: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(text) > maxBytes {
		err = fmt.Errorf("it is larger than %d MiB", maxBytes>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the baseline %s: %w", path, err)
	}
	if err := b.parse(text); err != nil {
		return nil, fmt.Errorf("%s is not a baseline of usher: %w; write it again with --write-baseline %s", path, err, path)
	}
	return b, nil
}

func (b *Baseline) parse(text []byte) error {
	var d document
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	switch err := decoder.Decode(&d); {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case err != nil:
		return explained(err)
	case d.Version != version && d.Version != unnamed:
		return fmt.Errorf("its version is %d, and this usher reads versions up to %d", d.Version, version)
	}
	b.unnamed = d.Version == unnamed
	for i, e := range d.Findings {
		if e.Rule == "" || e.File == "" || e.Count < 0 {
			return fmt.Errorf("findings[%d] lacks a file or a rule, or has a negative count", i)
		}
		b.counts[e.Fingerprint] += max(e.Count, 1)
	}
	return nil
}

// explained says what is wrong with the YAML, without its values: another file may be
// given in place of a baseline.
func explained(err error) error {
	var texts []string
	for _, p := range syntax.Problems(err) {
		if p.Line > 0 {
			p.Text = fmt.Sprintf("line %d: %s", p.Line, p.Text)
		}
		texts = append(texts, p.Text)
	}
	return errors.New(strings.Join(texts, "; "))
}

// Add adds a finding.
func (b *Baseline) Add(f report.Finding) { b.counts[b.key(f)]++ }

// Take reports whether the baseline has a finding, and removes it: a further finding
// with the same fingerprint is a new one.
func (b *Baseline) Take(f report.Finding) bool {
	key := b.key(f)
	n := b.counts[key]
	if n > 1 {
		b.counts[key] = n - 1
	} else {
		delete(b.counts, key)
	}
	return n > 0
}

// Left counts the entries that were not taken completely, among those that a check
// could have found.
func (b *Baseline) Left(could func(file, rule string) bool) (n int) {
	for key := range b.counts {
		file := key.File
		if file != manifest.Stdin && !filepath.IsAbs(filepath.FromSlash(file)) {
			file = filepath.Join(b.folder, filepath.FromSlash(file))
		}
		if could(file, key.Rule) {
			n++
		}
	}
	return n
}

// Len counts the findings.
func (b *Baseline) Len() (n int) {
	for _, count := range b.counts {
		n += count
	}
	return n
}

// Write writes the baseline in an order that does not change.
func (b *Baseline) Write(w io.Writer) error {
	d := document{Version: version, Findings: []entry{}}
	for key, n := range b.counts {
		e := entry{Fingerprint: key}
		if n > 1 {
			e.Count = n
		}
		d.Findings = append(d.Findings, e)
	}
	slices.SortFunc(d.Findings, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	if _, err := io.WriteString(w, "# Known findings, which usher check --baseline does not report. usher check --write-baseline writes this file.\n"); err != nil {
		return err
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(d); err != nil {
		return err
	}
	return e.Close()
}

// key is the fingerprint of a finding, with its path in this baseline.
func (b *Baseline) key(f report.Finding) report.Fingerprint {
	key := *f.Fingerprint
	if b.unnamed {
		key.Namespace, key.Name = "", ""
	}
	if key.File == manifest.Stdin {
		return key
	}
	if abs, err := filepath.Abs(key.File); err == nil {
		key.File = abs
		if relative, err := filepath.Rel(b.folder, abs); err == nil {
			key.File = relative
		}
	}
	key.File = filepath.ToSlash(key.File)
	return key
}
