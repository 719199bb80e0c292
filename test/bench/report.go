package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// write puts the section between its marks in performance.md. It keeps text outside of marks, which is written by hand.
func (s section) write(folder, name string) error {
	path := filepath.Join(folder, "performance.md")
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- measured: "+name+" -->\n", "<!-- end: "+name+" -->\n"
	before, rest, found := strings.Cut(string(document), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no lines %q and %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(path, []byte(before+begin+strings.TrimSpace(s.text)+"\n"+end+after), 0o644)
}
