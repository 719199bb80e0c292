package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/usher-dev/usher/config"
)

// Configuration adds --config.
func Configuration(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "config", "", "configuration (default: the first "+config.FileName+" in this directory or a parent)")
	complete(cmd, "config", Manifests)
}

// OwnNamespaceFlag is the name of the flag that names usher's own namespace.
const OwnNamespaceFlag = "usher-namespace"

// OwnNamespace adds --usher-namespace.
func OwnNamespace(cmd *cobra.Command, namespace *string) {
	cmd.Flags().StringVar(namespace, OwnNamespaceFlag, Namespace, "usher's own namespace")
}

// OwnNamespaceAlias lets --usher-namespace name the namespace of commands whose
// --namespace is usher's own.
func OwnNamespaceAlias(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == OwnNamespaceFlag {
		name = NamespaceFlag
	}
	return pflag.NormalizedName(name)
}

// KubernetesVersion adds --kubernetes-version. otherwise says which version
// counts without the flag.
func KubernetesVersion(cmd *cobra.Command, version *string, otherwise string) {
	cmd.Flags().StringVar(version, "kubernetes-version", "", "the API server's version, such as 1.34 (default: "+otherwise+")")
}

// Templates adds -t.
func Templates(cmd *cobra.Command, paths *[]string) {
	cmd.Flags().StringSliceVarP(paths, "template", "t", nil, "files or folders with the ConfigMaps of templates")
	complete(cmd, "template", Manifests)
}

// NamespaceLabels adds --namespace-labels.
func NamespaceLabels(cmd *cobra.Command, labels *map[string]string) {
	cmd.Flags().StringToStringVar(labels, "namespace-labels", nil, "labels of every namespace, such as policy.usher.dev/enforce=baseline")
}

// AllowEmpty adds --allow-empty.
func AllowEmpty(cmd *cobra.Command, allow *bool) {
	cmd.Flags().BoolVar(allow, "allow-empty", false, "accept an input without objects")
}

// The values of --dry-run, which are kubectl's.
const (
	DryRunNone   = "none"
	DryRunClient = "client"
	DryRunServer = "server"
)

// DryRun adds --dry-run; without a value it is DryRunClient, as with kubectl.
func DryRun(cmd *cobra.Command, value *string, usage string) {
	Choose(cmd, value, Choice{
		Name: "dry-run", Default: DryRunNone, Bare: DryRunClient, Values: []string{DryRunNone, DryRunClient, DryRunServer}, Usage: usage,
	})
}
