package report

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/usher-dev/usher/finding"
)

// writeGitHub writes a finding as a workflow command, which GitHub shows next to the
// line of a pull request.
func writeGitHub(w *bufio.Writer, f Finding) {
	fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", annotation(f),
		property.Replace(f.File), f.Line, f.Column, property.Replace(f.Rule), data.Replace(f.Message))
}

// The characters that end a command or a property, as GitHub escapes them.
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func annotation(f Finding) string {
	switch {
	case f.Exempt != "" || f.Level == finding.Strict:
		return "notice"
	case f.Level == finding.Baseline:
		return "warning"
	}
	return "error"
}
