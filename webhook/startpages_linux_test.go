package webhook

import (
	"io"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
)

var filePages = regexp.MustCompile(`RssFile:\s+(\d+) kB`)

// mapped returns how much of files is mapped, in KiB.
func mapped(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	m := filePages.FindSubmatch(status)
	if m == nil {
		t.Fatalf("/proc/self/status has no RssFile:\n%s", status)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDropStartPages_MappedProgram_IsUnmappedAndStillRuns(t *testing.T) {
	mappings, err := programMappings()
	if err != nil || len(mappings) == 0 {
		t.Fatalf("the mappings of the program are %v: %v", mappings, err)
	}
	// Reading its memory maps the whole program.
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	size := 0
	for _, m := range mappings {
		n, err := io.Copy(io.Discard, io.NewSectionReader(memory, int64(m.from), int64(m.to-m.from)))
		if err != nil {
			t.Fatal(err)
		}
		size += int(n) / 1024
	}
	before := mapped(t)
	if before < size {
		t.Fatalf("of the program's %d KiB only %d are mapped", size, before)
	}
	dropStartPages(testr.New(t))
	if after := mapped(t); after > before-size/2 {
		t.Errorf("%d KiB are mapped, before %d, of which the program has %d", after, before, size)
	}
	again, err := programMappings() // runs code whose pages were dropped
	if err != nil || !cmp.Equal(mappings, again, cmp.AllowUnexported(mapping{})) {
		t.Errorf("the mappings of the program became %v: %v", again, err)
	}
}

func TestUnwritten_SelectsOnlyWhatIsAsInTheFile(t *testing.T) {
	smaps, err := os.ReadFile("testdata/smaps")
	if err != nil {
		t.Fatal(err)
	}
	want := []mapping{{0x400000, 0x1b45000}, {0x1b45000, 0x30f1000}}
	if got := unwritten(smaps, "/usher webhook"); !cmp.Equal(got, want, cmp.AllowUnexported(mapping{})) {
		t.Errorf("got %x, want %x", got, want)
	}
	if got := unwritten([]byte("\n400000-\nVmFlags: rd\nAnonymous:\n zz-yy r--p 0 0 0 /usher webhook\nVmFlags: rd mr\n"), "/usher webhook"); got != nil {
		t.Errorf("a broken text has the mappings %x", got)
	}
}
