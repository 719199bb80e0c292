// Package deploy has what `usher install` prints: the chart, and the namespace
// that it is installed in.
package deploy

import "embed"

// Chart is the folder of usher's chart in Files.
const Chart = "chart/usher"

// Namespace is the manifest of usher's namespace in Files.
const Namespace = "base/usher/namespace.yaml"

// Files are the chart and the namespace's manifest.
//
//go:embed all:chart/usher base/usher/namespace.yaml
var Files embed.FS
