package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/usher-dev/usher/suggest"
)

// Outputs are where a command writes its results, and in which formats: one
// format on standard output, and any number of files.
type Outputs struct {
	// Stdout is the format of standard output.
	Stdout string
	// Files are written in addition to standard output.
	Files []OutputFile

	formats []string
	wrong   []error
}

// An OutputFile is a file with the results in a format.
type OutputFile struct{ Format, Path string }

// Register adds -o FORMAT[=FILE] for commands whose results can also be written
// to files. Without -o FORMAT, standard output has the first format.
func (o *Outputs) Register(cmd *cobra.Command, formats ...string) {
	o.Stdout, o.formats = formats[0], formats
	cmd.Flags().VarP((*outputs)(o), OutputFlag, "o", suggest.List(formats, "or")+"; with =FILE to a file, in addition to standard output (repeatable)")
	complete(cmd, OutputFlag, func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if strings.Contains(word, "=") {
			return nil, cobra.ShellCompDirectiveDefault // files
		}
		return formats, cobra.ShellCompDirectiveNoFileComp
	})
}

// Write writes the results to standard output and to the files. Every output is
// tried, whichever fails.
func (o *Outputs) Write(stdout io.Writer, write func(w io.Writer, format string) error) error {
	var errs []error
	if err := write(stdout, o.Stdout); err != nil {
		errs = append(errs, fmt.Errorf("writing the results: %w", err))
	}
	for _, f := range o.Files {
		err := ReplaceFile(f.Path, func(w io.Writer) error {
			buffer := bufio.NewWriter(w)
			if err := write(buffer, f.Format); err != nil {
				return err
			}
			return buffer.Flush()
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("writing the results as %s: %w", f.Format, err))
		}
	}
	return errors.Join(errs...)
}

// Uses reports whether an output has a format.
func (o *Outputs) Uses(format string) bool {
	return o.Stdout == format || slices.ContainsFunc(o.Files, func(f OutputFile) bool { return f.Format == format })
}

// outputs is the value of the flag. It accepts every word, because pflag would
// report only the first wrong one.
type outputs Outputs

func (o *outputs) String() string { return o.Stdout }
func (o *outputs) Type() string   { return "FORMAT[=FILE]" }

func (o *outputs) Set(word string) error {
	format, path, file := strings.Cut(word, "=")
	switch {
	case !slices.Contains(o.formats, format):
		o.wrong = append(o.wrong, fmt.Errorf("--%s is %q; %s", OutputFlag, word, suggest.Instead(format, o.formats)))
	case file && path == "":
		o.wrong = append(o.wrong, fmt.Errorf("--%s is %q; write the path of a file after %s=", OutputFlag, word, format))
	case !file || path == "-":
		o.Stdout = format
	case slices.ContainsFunc(o.Files, func(f OutputFile) bool { return f.Path == path }):
		o.wrong = append(o.wrong, fmt.Errorf("--%s names the file %s twice; write a file for each format", OutputFlag, path))
	default:
		o.Files = append(o.Files, OutputFile{format, path})
	}
	return nil
}

func (o *outputs) validate() error { return errors.Join(o.wrong...) }
