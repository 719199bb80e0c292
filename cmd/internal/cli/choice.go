package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/usher-dev/usher/suggest"
)

// OutputFlag is the name of the flag that selects the format of results.
const OutputFlag = "output"

// Output adds -o, whose default is the first format.
func Output(cmd *cobra.Command, value *string, formats ...string) {
	Choose(cmd, value, Choice{Name: OutputFlag, Shorthand: "o", Default: formats[0], Values: formats})
}

// A Choice is a flag with a fixed set of values.
type Choice struct {
	Name, Shorthand string
	// Usage describes the flag; the values follow it.
	Usage string
	// Default is the value without the flag. It need not be one of Values.
	Default string
	// Bare, if set, is the value of the flag without a value.
	Bare   string
	Values []string
}

// Choose adds a flag with a fixed set of values, which shells complete. A wrong
// value is reported along with those of other flags before the command runs.
func Choose(cmd *cobra.Command, value *string, c Choice) {
	*value = c.Default
	usage := suggest.List(c.Values, "or")
	if c.Usage != "" {
		usage = c.Usage + ": " + usage
	}
	flag := cmd.Flags().VarPF(&choice{value, c}, c.Name, c.Shorthand, usage)
	flag.NoOptDefVal = c.Bare
	complete(cmd, c.Name, cobra.FixedCompletions(c.Values, cobra.ShellCompDirectiveNoFileComp))
}

// choice is the value of a flag. It accepts every word, because pflag would
// report only the first wrong one.
type choice struct {
	value *string
	Choice
}

func (c *choice) Set(word string) error { *c.value = word; return nil }
func (c *choice) String() string        { return *c.value }
func (c *choice) Type() string          { return "string" }

func (c *choice) validate() error {
	if slices.Contains(c.Values, *c.value) || *c.value == c.Default {
		return nil
	}
	return fmt.Errorf("--%s is %q; %s", c.Name, *c.value, suggest.Instead(*c.value, c.Values))
}

// validNamespace reports a name that no namespace can have.
func validNamespace(f *pflag.Flag) error {
	if name := f.Value.String(); f.Changed && len(validation.IsDNS1123Label(name)) > 0 {
		return fmt.Errorf("--%s is %q; write lower-case letters, digits and dashes, such as team", f.Name, name)
	}
	return nil
}

// validate reports every wrong value of a flag with a fixed set of values, or of a
// namespace.
func validate(cmd *cobra.Command, _ []string) error {
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if c, ok := f.Value.(interface{ validate() error }); ok {
			errs = append(errs, c.validate())
		}
		if f.Name == NamespaceFlag || f.Name == OwnNamespaceFlag {
			errs = append(errs, validNamespace(f))
		}
	})
	return errors.Join(errs...)
}

// complete completes the values of a flag, which must exist.
func complete(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err)
	}
}
