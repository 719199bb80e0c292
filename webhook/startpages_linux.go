package webhook

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
)

// dropStartPages unmaps the pages of the program's file that its start touched:
// initializing all packages maps most of the file, and requests need a seventh
// of it. The pages are those of the file, because nothing ever wrote to them,
// so the kernel maps a page again from its cache, or from the file, when the
// program next reads it (madvise(2), MADV_DONTNEED). MADV_COLD (Linux 5.4)
// comes first: otherwise the kernel takes the unmapped pages for ones in use,
// and counts them in the working set of the container. A failure costs memory
// and nothing else.
func dropStartPages(log logr.Logger) {
	mappings, err := programMappings()
	for _, m := range mappings {
		for _, advice := range []uintptr{unix.MADV_COLD, unix.MADV_DONTNEED} {
			if _, _, e := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, advice); e != 0 {
				err = errors.Join(err, fmt.Errorf("madvise(%x-%x, %d): %w", m.from, m.to, advice, e))
			}
		}
	}
	if err != nil {
		log.V(1).Info("the pages of the start stay mapped", "reason", err.Error())
	}
}

// A mapping is a part of the address space.
type mapping struct{ from, to uintptr }

func programMappings() ([]mapping, error) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return nil, err
	}
	return unwritten(smaps, program), nil
}

// unwritten returns the mappings of a file in which the process cannot write,
// and never has: a page that a relocation, a debugger or a probe changed before
// is not in the file.
func unwritten(smaps []byte, file string) (all []mapping) {
	var current mapping
	wanted := false
	for line := range strings.Lines(string(smaps)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "Anonymous:", "Swap:":
			wanted = wanted && fields[1] == "0"
		case "VmFlags:": // the last line of a mapping
			if wanted {
				all = append(all, current)
			}
			wanted = false
		default:
			if !strings.HasSuffix(fields[0], ":") {
				current, wanted = parseMapping(fields, file)
			}
		}
	}
	return all
}

// parseMapping parses the first line of a mapping, such as
// "556cf6111000-556cf6116000 r-xp 00002000 fe:00 247026   /usr/bin/cat", and
// reports whether it is private and read-only, and of the file.
func parseMapping(fields []string, file string) (m mapping, wanted bool) {
	from, to, _ := strings.Cut(fields[0], "-")
	start, err := strconv.ParseUint(from, 16, strconv.IntSize)
	end, errEnd := strconv.ParseUint(to, 16, strconv.IntSize)
	if err != nil || errEnd != nil || len(fields) < 6 {
		return mapping{}, false
	}
	private := fields[1] == "r--p" || fields[1] == "r-xp"
	return mapping{uintptr(start), uintptr(end)}, private && strings.Join(fields[5:], " ") == file
}
