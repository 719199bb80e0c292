// Package docs_test checks the documents: their links, what they claim about other
// tools, and the commands that they show.
package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const root = ".."

// TestLinks follows every relative link of a document to its file and heading.
func TestLinks(t *testing.T) {
	for _, name := range documents(t) {
		text := read(t, name)
		for _, target := range links(text) {
			if err := follow(t, name, target); err != nil {
				t.Errorf("%s: the link %q: %v", name, target, err)
			}
		}
	}
}

// TestLinksOfProgramsAndManifests follows what messages and comments cite.
func TestLinksOfProgramsAndManifests(t *testing.T) {
	cited := regexp.MustCompile(`\bdocs/[a-z/-]+\.md(#[a-zA-Z0-9_-]+)?`)
	found := 0
	for _, name := range files(t, ".go", ".yaml", ".tmpl", ".json", ".txt") {
		for _, target := range cited.FindAllString(read(t, name), -1) {
			found++
			if err := follow(t, "README.md", target); err != nil {
				t.Errorf("%s: %q: %v", name, target, err)
			}
		}
	}
	if found < 50 {
		t.Errorf("found only %d of them", found)
	}
}

// TestLinks_TheirMistakes shows what the test finds.
func TestLinks_TheirMistakes(t *testing.T) {
	for target, want := range map[string]string{
		"rules.md":                               "",
		"../README.md#documents":                 "",
		"#come-from-another-injector":            "",
		"https://example.com/nothing.md":         "",
		"rule.md":                                "the file does not exist",
		"rules.md#job-restart":                   "the document has no such heading",
		"examples/pod.yaml#L3":                   "",
		"controllers":                            "",
		"../../../../../../../../../../etc/file": "the file is outside of the repository",
	} {
		got := ""
		if err := follow(t, "docs/migrating.md", target); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
}

func TestAnchors(t *testing.T) {
	text := "# What it *does*\n\n```\n# no heading\n```\n## `usher check`, in CI\n## What it does\n"
	if got, want := anchors(text), []string{"what-it-does", "usher-check-in-ci", "what-it-does-1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// documents returns the names of all documents, relative to the repository.
func documents(t *testing.T) []string {
	t.Helper()
	return files(t, ".md")
}

// files returns the names of all files of some kinds, relative to the repository,
// without what other tests read.
func files(t *testing.T, extensions ...string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		skipped := []string{"bin", "dist", "testdata", "node_modules", ".git"}
		if entry.IsDir() && slices.Contains(skipped, entry.Name()) {
			return fs.SkipDir
		}
		if slices.Contains(extensions, filepath.Ext(name)) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil || len(names) < 20 {
		t.Fatalf("found %d files: %v", len(names), err)
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	fenced = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```$")
	inCode = regexp.MustCompile("`[^`\n]*`")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// links returns the targets of a document's links and pictures.
func links(text string) []string {
	var targets []string
	text = inCode.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
	for _, found := range link.FindAllStringSubmatch(text, -1) {
		targets = append(targets, found[1])
	}
	return targets
}

// follow looks for the target of a link in a document. It does not ask other
// servers.
func follow(t *testing.T, document, target string) error {
	t.Helper()
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return nil
	}
	path, fragment, _ := strings.Cut(target, "#")
	name := document
	if path != "" {
		name = filepath.Join(filepath.Dir(document), path)
	}
	if !filepath.IsLocal(name) {
		return fmt.Errorf("the file is outside of the repository")
	}
	if _, err := os.Stat(filepath.Join(root, name)); err != nil {
		return fmt.Errorf("the file does not exist")
	}
	if fragment != "" && strings.HasSuffix(name, ".md") && !slices.Contains(anchors(read(t, name)), fragment) {
		return fmt.Errorf("the document has no such heading")
	}
	return nil
}

var heading = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)

// anchors returns the anchors of a document's headings, as GitHub names them.
func anchors(text string) []string {
	var names []string
	seen := map[string]int{}
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := link.ReplaceAllString(found[1], "")
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r):
				return unicode.ToLower(r)
			}
			return -1
		}, title)
		n := seen[name]
		seen[name]++
		if n > 0 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		names = append(names, name)
	}
	return names
}
