package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/verdict"
)

// A Namespace explains the levels of a namespace, and what they mean for its
// existing workloads.
type Namespace struct {
	Namespace string  `json:"namespace"`
	Levels    []Level `json:"levels"`
	// Pin is the version of the rules that the namespace pins; "" for none.
	Pin string `json:"enforceVersion,omitempty"`
	// Invalid are labels with invalid values.
	Invalid []string `json:"invalidLabels,omitempty"`
	// Checked is how many objects usher read; Denied and Warned are how many of
	// them would be.
	Checked int `json:"checked"`
	Denied  int `json:"denied"`
	Warned  int `json:"warned"`
	// Workloads are those that would be denied, or get a warning.
	Workloads []NamespaceWorkload `json:"workloads"`
	// Unread says what usher could not read.
	Unread []string `json:"unread,omitempty"`
}

// A Level is one of the levels of a namespace.
type Level struct {
	// Effect is what the level does: enforce, warn or audit.
	Effect string `json:"effect"`
	Level  string `json:"level"`
	// Source is what sets it: label, default, or assumed.
	Source string `json:"source"`
}

// A NamespaceWorkload is a workload with findings.
type NamespaceWorkload struct {
	Workload string             `json:"workload"`
	Denied   bool               `json:"denied"`
	Findings []NamespaceFinding `json:"findings"`
}

// A NamespaceFinding is a finding that denies the workload or its pods, or warns.
type NamespaceFinding struct {
	Rule    string `json:"rule"`
	Effect  string `json:"effect"`
	Field   string `json:"fieldPath,omitempty"`
	Message string `json:"message"`
}

// Sources of a Level.
const (
	fromLabel   = "label"
	fromDefault = "default"
	assumed     = "assumed"
)

// Namespace explains a namespace with the rights of the connection. If enforce
// is not "", it assumes that level for the label that enforces.
func (e Explainer) Namespace(ctx context.Context, name, enforce string) (*Namespace, error) {
	labels := map[string]string{}
	if enforce != "" {
		if _, err := finding.ParseLevel(enforce); err != nil {
			return nil, fmt.Errorf("--enforce: %w", err)
		}
		labels[wellknown.LabelEnforce] = enforce
	}
	explained := &Namespace{Namespace: name, Workloads: []NamespaceWorkload{}}
	judged, err := e.Cluster.JudgeNamespace(ctx, name, labels, explained.add)
	if err != nil {
		return nil, err
	}
	for _, l := range []struct {
		effect, label string
		level         finding.Level
	}{{"enforce", wellknown.LabelEnforce, judged.Levels.Enforce}, {"warn", wellknown.LabelWarn, judged.Levels.Warn}, {"audit", wellknown.LabelAudit, judged.Levels.Audit}} {
		invalid := slices.ContainsFunc(judged.Invalid, func(err *config.LabelError) bool { return err.Key == l.label })
		source := fromDefault
		if _, set := judged.Labels[l.label]; set && !invalid {
			source = fromLabel
		}
		if _, set := labels[l.label]; set {
			source = assumed
		}
		explained.Levels = append(explained.Levels, Level{l.effect, l.level.String(), source})
	}
	if judged.Levels.Pin != (release.Version{}) {
		explained.Pin = judged.Levels.Pin.String()
	}
	for _, err := range judged.Invalid {
		explained.Invalid = append(explained.Invalid, err.Error())
	}
	explained.Checked = judged.Checked
	if judged.Assumed != "" {
		explained.Unread = append(explained.Unread, judged.Assumed)
	}
	for _, err := range judged.Unread {
		if errors.Is(err, cluster.ErrLimit) {
			continue // there is none
		}
		explained.Unread = append(explained.Unread, err.Error())
	}
	return explained, nil
}

// add adds a workload if it has findings that deny or warn.
func (n *Namespace) add(workload string, v *verdict.Verdict) {
	w := NamespaceWorkload{Workload: workload, Denied: v.Denied}
	for _, effect := range []verdict.Effect{verdict.Denies, verdict.DeniesPods, verdict.Warns} {
		for _, f := range v.Effects(effect) {
			w.Findings = append(w.Findings, NamespaceFinding{f.Rule, effect.String(), f.Field, f.Message})
		}
	}
	switch {
	case len(w.Findings) == 0:
		return
	case w.Denied:
		n.Denied++
	default:
		n.Warned++
	}
	n.Workloads = append(n.Workloads, w)
}

// WriteText writes the explanation for people.
func (n *Namespace) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, n.text())
	return err
}

func (n *Namespace) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "namespace %s\n\nLEVELS\n", n.Namespace)
	for _, l := range n.Levels {
		source := l.Source
		if source == fromLabel {
			source = "label policy.usher.dev/" + l.Effect
		}
		fmt.Fprintf(&b, "  %-7s %-9s (%s)\n", l.Effect, l.Level, source)
	}
	if n.Pin != "" {
		fmt.Fprintf(&b, "  denies nothing that %s does not deny (label %s)\n", n.Pin, wellknown.LabelEnforceVersion)
	}
	for _, wrong := range n.Invalid {
		fmt.Fprintf(&b, "  invalid, so the default applies: %s\n", wrong)
	}
	fmt.Fprintf(&b, "\nWORKLOADS\n  if they were created now, %d would be denied, and %d would get a warning; usher read %d objects\n", n.Denied, n.Warned, n.Checked)
	for _, w := range n.Workloads {
		fmt.Fprintf(&b, "  %s\n", w.Workload)
		for _, f := range w.Findings {
			field := ""
			if f.Field != "" {
				field = f.Field + ": "
			}
			fmt.Fprintf(&b, "    %s: %s: %s%s\n", f.Effect, f.Rule, field, f.Message)
		}
	}
	for _, unread := range n.Unread {
		fmt.Fprintf(&b, "  not read: %s\n", unread)
	}
	return b.String()
}
