package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/usher-dev/usher/finding"
)

// writeGitHub writes workflow commands, which GitHub shows next to the lines of
// a pull request.
func writeGitHub(out io.Writer, r *Result) error {
	w := bufio.NewWriter(out)
	for _, f := range r.Findings {
		fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", annotation(f),
			property.Replace(f.File), f.Line, f.Column, property.Replace(f.Rule), data.Replace(f.Message))
	}
	return w.Flush()
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
