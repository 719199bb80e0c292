package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf16"
)

// MaxFileBytes limits the size of a file. The API server refuses objects over 3
// MiB, so a file of this size contains many.
const MaxFileBytes = 16 << 20

// Stdin is the path that stands for standard input.
const Stdin = "-"

// Read reads every document in the paths, in order.
func Read(paths []string, stdin io.Reader) ([]*Document, []error) {
	files, errs := Files(paths)
	var docs []*Document
	for _, file := range files {
		d, e := ReadFile(file, stdin)
		docs, errs = append(docs, d...), append(errs, e...)
	}
	return docs, errs
}

// Files lists the files for the paths: a file itself, and in a folder every
// .yaml, .yml and .json and each Kustomization below it in lexical order. It does not follow symbolic
// links to folders inside a folder, so loops end.
func Files(paths []string) ([]string, []error) {
	var files []string
	var errs []error
	for _, path := range paths {
		if path == Stdin {
			files = append(files, path)
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			errs = append(errs, &Error{File: path, Err: cause(err)})
			continue
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		// The trailing separator opens a folder that is itself a link.
		err = filepath.WalkDir(path+string(filepath.Separator), func(p string, entry fs.DirEntry, err error) error {
			if err != nil {
				errs = append(errs, &Error{File: p, Err: cause(err)})
				if entry != nil && entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if name := entry.Name(); entry.IsDir() {
				if name == ".git" || name == "node_modules" || name == "vendor" && isVendored(p) {
					return fs.SkipDir
				}
			} else if IsManifest(name) && !linksToFolder(p, entry) {
				files = append(files, p)
			}
			return nil
		})
		if err != nil {
			errs = append(errs, &Error{File: path, Err: cause(err)})
		}
	}
	return files, errs
}

// isVendored reports whether a folder has copies of Go modules.
func isVendored(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "modules.txt"))
	return err == nil
}

// IsManifest reports whether a file of a folder is read, by its name.
func IsManifest(name string) bool {
	if name == "Kustomization" {
		return true
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

func linksToFolder(path string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// ReadFile reads every document of one file, or of stdin for "-".
func ReadFile(path string, stdin io.Reader) ([]*Document, []error) {
	return readFile(path, stdin, false)
}

// ReadTolerant is ReadFile for callers that report duplicate fields themselves.
func ReadTolerant(path string, stdin io.Reader) ([]*Document, []error) {
	return readFile(path, stdin, true)
}

func readFile(path string, stdin io.Reader, tolerates bool) ([]*Document, []error) {
	data, again, err := read(path, stdin)
	if err != nil {
		return nil, []error{&Error{File: path, Err: cause(err), Class: classOfUnread(data)}}
	}
	docs, errs := parse(path, data, tolerates)
	for _, d := range docs {
		if again && d.yaml { // the JSON of others is their text
			d.at.leave(path)
		}
	}
	return docs, errs
}

// read reads a file. again is true if it can be read again.
func read(path string, stdin io.Reader) (data []byte, again bool, err error) {
	in, size := stdin, int64(0)
	if path != Stdin {
		info, err := os.Stat(path)
		if err != nil {
			return nil, false, err
		}
		again = info.Mode().IsRegular()
		if !again && info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) == 0 {
			return nil, false, errors.New("not a file")
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, false, err
		}
		defer f.Close()
		in, size = f, info.Size()
	}
	data, err = readAll(io.LimitReader(in, MaxFileBytes+1), min(size, MaxFileBytes))
	if err != nil {
		return nil, false, err
	}
	if len(data) > MaxFileBytes {
		return data, false, fmt.Errorf("larger than %d MiB; split it", MaxFileBytes>>20)
	}
	if text, ok := decodedUTF16(data); ok {
		data, again = text, false
	}
	if isUTF16(data) {
		return data, false, errors.New("UTF-16 text: write it as UTF-8, for example with iconv -f UTF-16 -t UTF-8, or with -Encoding utf8 in PowerShell")
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return data, false, errors.New("a binary file, neither YAML nor JSON")
	}
	return data, again, nil
}

// classOfUnread returns the class of a file that read refuses.
func classOfUnread(data []byte) Class {
	switch {
	case len(data) == 0: // nothing is known about it
		return Broken
	case isUTF16(data):
		return classOfUTF16(data)
	}
	return classOf(data)
}

// decodedUTF16 returns the UTF-8 of a text that begins with UTF-16's byte order mark,
// which kubectl reads, too.
func decodedUTF16(data []byte) ([]byte, bool) {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case len(data)%2 != 0:
		return nil, false
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	case !bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return nil, false
	}
	units := make([]uint16, 0, len(data)/2)
	for at := 2; at < len(data); at += 2 {
		units = append(units, order.Uint16(data[at:]))
	}
	return []byte(string(utf16.Decode(units))), true
}

// isUTF16 reports whether data begins with UTF-16's byte order mark, or with two
// ASCII characters in UTF-16.
func isUTF16(data []byte) bool {
	if len(data) < 4 {
		return false
	}
	zero := func(i int) bool { return data[i] == 0 }
	return bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) ||
		zero(0) && !zero(1) && zero(2) && !zero(3) || !zero(0) && zero(1) && !zero(2) && zero(3)
}

// readAll is io.ReadAll for a file of known size: it allocates only that much,
// because documents may retain the text of their file.
func readAll(in io.Reader, size int64) ([]byte, error) {
	data := make([]byte, size+1)
	n, err := io.ReadFull(in, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return data[:n], nil
	}
	if err != nil {
		return nil, err
	}
	rest, err := io.ReadAll(in) // the file has grown, or its size is unknown
	return append(data, rest...), err
}

// cause removes the path that os puts before its errors, because it is already
// reported.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
