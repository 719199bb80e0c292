package manifest

import (
	"hash/maphash"
	"os"
	"sync"

	"github.com/usher-dev/usher/yaml/position"
)

// A fileText is the text of a document, which the objects of a List share. Most objects
// are judged without it, so that of a file is not kept: it is read again.
type fileText struct {
	line   int
	offset int // in the file
	// odd is true if it may have a number that JSON writes differently.
	odd bool

	mu     sync.Mutex
	source *position.Source // nil while the text is not in memory
	file   string           // "" if the text cannot be read again
	length int
	hash   uint64
}

func newFileText(written []byte, line, offset int) *fileText {
	return &fileText{line: line, offset: offset, source: position.New(written, line)}
}

// seed is that of the hashes of texts.
var seed = maphash.MakeSeed()

// leave leaves the text in its file.
func (t *fileText) leave(file string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == "" {
		written := t.source.Text()
		t.file, t.length, t.hash, t.source = file, len(written), maphash.Bytes(seed, written), nil
	}
}

// use calls a function with the text. It reports whether it is the text of the
// document: if the file has changed, the text is empty.
func (t *fileText) use(do func(*position.Source)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	source := t.source
	if source == nil {
		written, ok := t.read()
		if !ok {
			do(position.New(nil, t.line))
			return false
		}
		source = position.New(written, t.line)
		t.source = source
	}
	do(source)
	return true
}

// read reads the text from its file.
func (t *fileText) read() ([]byte, bool) {
	f, err := os.Open(t.file)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	written := make([]byte, t.length)
	if _, err := f.ReadAt(written, int64(t.offset)); err != nil {
		return nil, false
	}
	return written, maphash.Bytes(seed, written) == t.hash
}

// forget releases the memory of the text until its next use.
func (t *fileText) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != "" {
		t.source = nil
	}
}
