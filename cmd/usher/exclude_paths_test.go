package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/usher-dev/usher/cmd/internal/cli"
)

func TestCheck_ExcludePaths(t *testing.T) {
	for name, c := range map[string]struct {
		args, folder string
		status       int
		want         string // in standard error
	}{
		"none":                                {". --exclude-paths nowhere", "", cli.Failed, "3 objects"},
		"folders":                             {". --exclude-paths **/testdata", "", cli.Failed, "2 objects"},
		"several":                             {". --exclude-paths **/testdata --exclude-paths deploy/*.yaml", "", cli.Clean, "1 object "},
		"relative to the current folder":      {". --exclude-paths job.yaml", "deploy", cli.Failed, "1 object "},
		"in addition to the configuration's":  {". --exclude-paths deploy --config skip.yaml", "", cli.Clean, "1 object "},
		"a path where a rule belongs":         {". --exclude **/testdata", "", cli.Usage, "--exclude \"**/testdata\" is not the id of a rule; to skip files, write --exclude-paths '**/testdata'"},
		"a path where a rule to use belongs":  {". --rule deploy/job.yaml", "", cli.Usage, "--rule \"deploy/job.yaml\" is not the id of a rule"},
		"a misspelt rule is not seen as path": {". --exclude job-ttls", "", cli.Usage, `rule "job-ttls" is unknown`},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, map[string]string{
				"sound.yaml": soundJob, "deploy/job.yaml": brokenJob, "deploy/testdata/job.yaml": brokenJob,
				"skip.yaml": "apiVersion: config.usher.dev/v1alpha1\nkind: Configuration\npaths: {exclude: ['**/testdata']}\n",
			})
			if c.folder != "" {
				dir, err := os.Getwd()
				if err != nil {
					t.Fatal(err)
				}
				t.Chdir(filepath.Join(dir, c.folder))
			}
			status, out, errs := command("", append([]string{"check"}, strings.Fields(c.args)...)...)
			if status != c.status || !strings.Contains(errs, c.want) {
				t.Errorf("status %d, want %d and %q in\n%s%s", status, c.status, c.want, out, errs)
			}
		})
	}
}
