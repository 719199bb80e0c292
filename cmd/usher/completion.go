package main

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/usher-dev/usher/cli/explain"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/policies/ruledocs"
)

// completeRules completes the ids of rules.
func completeRules(_ *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var ids []cobra.Completion
	for _, e := range ruledocs.Entries() {
		ids = append(ids, cobra.CompletionWithDesc(e.ID, e.Summary))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// completeObjects completes KIND/NAME with the objects of the cluster, or NAME
// with those of a kind.
func completeObjects(connection *cli.Connection, kind string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		of, _, slash := strings.Cut(word, "/")
		prefix := of + "/"
		switch {
		case slash:
		case kind != "":
			of, prefix = kind, ""
		default:
			var kinds []cobra.Completion
			for _, name := range explain.KindNames() {
				kinds = append(kinds, name+"/")
			}
			return kinds, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		targets, err := explain.ParseTargets("", []string{of + "/any"})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		resource := schema.FromAPIVersionAndKind(targets[0].APIVersion, targets[0].Kind).GroupVersion().WithResource(targets[0].Resource())
		var names []cobra.Completion
		for _, name := range connection.Names(cmd, resource) {
			names = append(names, prefix+name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
