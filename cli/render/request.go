package render

import (
	"time"

	"github.com/usher-dev/usher/cli/units"
)

// Limits of a unit. MaxOutput also limits what Helm unpacks of archives.
const (
	Timeout   = 10 * time.Second
	MaxMemory = 512 << 20
	MaxOutput = 100 << 20
)

// A Request asks for the manifests of a unit.
type Request struct {
	Kind   units.Kind `json:"kind"`
	Folder string     `json:"folder"`
	// Values replace those of a chart.
	Values map[string]any `json:"values,omitempty"`
	// Namespace is the one that a chart is installed in.
	Namespace string `json:"namespace,omitempty"`
	// KubernetesVersion is the server's version, such as v1.36.0, and APIVersions are
	// what it serves in addition to its own versions: group/version and
	// group/version/Kind.
	KubernetesVersion string   `json:"kubernetesVersion,omitempty"`
	APIVersions       []string `json:"apiVersions,omitempty"`
}

// A Result is what a unit renders to.
type Result struct {
	Objects []Object `json:"objects"`
	// Notes are what was left out, and what may differ in a cluster.
	Notes []string `json:"notes,omitempty"`
	// Partial is true if objects were left out.
	Partial bool `json:"partial,omitempty"`
	// Err is why the unit cannot be rendered.
	Err string `json:"err,omitempty"`
}

// An Object is the text of one or more objects, rendered from a file.
type Object struct {
	// File is the file, and Text its YAML or JSON.
	File string `json:"file"`
	Text string `json:"text"`
}
