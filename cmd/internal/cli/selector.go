package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
)

// Selector adds -l.
func Selector(cmd *cobra.Command, value *string, usage string) {
	cmd.Flags().StringVarP(value, SelectorFlag, "l", "", usage+", such as app=web")
}

// ParseSelector parses the value of -l.
func ParseSelector(text string) (labels.Selector, error) {
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("--%s is %q; write labels such as app=web,tier!=cache", SelectorFlag, text)
	}
	return selector, nil
}
