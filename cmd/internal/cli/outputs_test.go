package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// write runs a command whose result is its format.
func write(failing string, args ...string) (status int, out, errs string) {
	root := &cobra.Command{Use: "root"}
	var o Outputs
	run := &cobra.Command{Use: "run", RunE: func(cmd *cobra.Command, _ []string) error {
		return o.Write(cmd.OutOrStdout(), func(w io.Writer, format string) error {
			fmt.Fprint(w, format, "\n")
			if format == failing {
				return errors.New("no result")
			}
			return nil
		})
	}}
	o.Register(run, "text", "json", "html")
	root.AddCommand(run)
	var stdout, stderr strings.Builder
	status = Execute(context.Background(), root, append([]string{"run"}, args...), strings.NewReader(""), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestOutputs(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, tc := range map[string]struct {
		args   []string
		status int
		out    string
		errs   string
		files  map[string]string
	}{
		"the default":                {out: "text\n"},
		"a format":                   {args: []string{"-o", "json"}, out: "json\n"},
		"the last format":            {args: []string{"-o", "json", "--output=html"}, out: "html\n"},
		"a file, in addition":        {args: []string{"-o", "html=a.html"}, out: "text\n", files: map[string]string{"a.html": "html\n"}},
		"files and a format":         {args: []string{"-o", "html=b", "-o", "json", "-o", "json=c=d"}, out: "json\n", files: map[string]string{"b": "html\n", "c=d": "json\n"}},
		"- is standard output":       {args: []string{"-o", "html=-"}, out: "html\n"},
		"an unknown format":          {args: []string{"-o", "htm=a"}, status: Usage, errs: "Error: --output is \"htm=a\"; did you mean html?\n"},
		"every wrong value":          {args: []string{"-o", "html=", "-o", "x"}, status: Usage, errs: "Error: --output is \"html=\"; write the path of a file after html=\n--output is \"x\"; write text, json or html\n"},
		"a file twice":               {args: []string{"-o", "html=a", "-o", "json=a"}, status: Usage, errs: "Error: --output names the file a twice; write a file for each format\n"},
		"a folder that is not there": {args: []string{"-o", "html=no/a"}, out: "text\n", status: Usage, errs: "Error: writing the results as html: no/a: no such file or directory\n"},
		"a folder":                   {args: []string{"-o", "html=."}, out: "text\n", status: Usage, errs: "Error: writing the results as html: . is a folder; write the path of a file\n"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := write("", tc.args...)
			if diff := cmp.Diff([]any{tc.status, tc.out, tc.errs}, []any{status, out, errs}); diff != "" {
				t.Errorf("status, stdout, stderr (-want +got):\n%s", diff)
			}
			for file, want := range tc.files {
				if got, err := os.ReadFile(file); err != nil || string(got) != want {
					t.Errorf("%s: %q, %v", file, got, err)
				}
			}
		})
	}
}

func TestOutputs_File_IsReplacedAsAWhole(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "report"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("before"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("report", link); err != nil {
		t.Fatal(err)
	}
	content := func() string {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if status, _, errs := write("html", "-o", "html="+file); status != Usage || content() != "before" || !strings.Contains(errs, "no result") {
		t.Errorf("status %d, stderr %q, file %q; want the file as before", status, errs, content())
	}
	if status, _, errs := write("", "-o", "html="+link); status != Clean || content() != "html\n" || errs != "" {
		t.Errorf("status %d, stderr %q, file %q", status, errs, content())
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode: %v, %v", info, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
	if status, _, errs := write("", "-o", "html=/dev/null"); status != Clean || errs != "" {
		t.Errorf("a device: status %d, stderr %q", status, errs)
	}
}
