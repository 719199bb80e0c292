package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// A spool keeps a result in a temporary file until usher has judged every object. Only
// the user can read the file, and it does not outlive the process.
type spool struct {
	*bufio.Writer
	file *os.File
	name string // "" once the file is removed
}

func newSpool() (*spool, error) {
	file, err := os.CreateTemp("", "usher-inject-")
	if err != nil {
		return nil, fmt.Errorf("keeping the result until all objects are judged: %w", err)
	}
	s := &spool{Writer: bufio.NewWriterSize(file, 64<<10), file: file, name: file.Name()}
	if os.Remove(s.name) == nil { // Windows does not remove an open file
		s.name = ""
	}
	return s, nil
}

// copyTo writes the whole result.
func (s *spool) copyTo(w io.Writer) error {
	if err := s.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, s.file)
	return err
}

// close removes the file.
func (s *spool) close() {
	err := s.file.Close()
	if s.name != "" {
		err = errors.Join(err, os.Remove(s.name))
	}
	_ = err // the result was written, or an error says why not
}
