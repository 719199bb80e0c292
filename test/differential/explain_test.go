package differential

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/test/admission"
)

// An explanation is the result of usher explain for the next pod of a scene.
type explanation struct {
	Object string `json:"object"`
	Next   struct {
		Denied   bool   `json:"denied"`
		Unknown  string `json:"unknown"`
		Reason   string `json:"reason"`
		Problems []struct {
			Message string `json:"message"`
		} `json:"problems"`
		Templates []struct {
			Name   string `json:"name"`
			Reason string `json:"reason"`
		} `json:"templates"`
	} `json:"next"`
}

// reasons are the reasons by template.
func (e *explanation) reasons() map[string]string {
	by := map[string]string{}
	for _, t := range e.Next.Templates {
		by["template "+t.Name] = t.Reason
	}
	return by
}

// explain runs usher explain and returns its result by kind and name.
func (c *commandLine) explain(ctx context.Context, d folder) (map[string]*explanation, error) {
	out, _, err := c.runIn(ctx, string(d), "explain", "-o", "json", "-t", d.sub("templates"), "-f", d.sub("namespaces"), "-f", d.sub("scenes"))
	found, readErr := explanations(out)
	if readErr != nil {
		return nil, errors.Join(err, readErr)
	}
	return found, err
}

// explanations parses the output of usher explain, by kind and name.
func explanations(out string) (map[string]*explanation, error) {
	var result struct {
		Explanations []*explanation `json:"explanations"`
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		return nil, fmt.Errorf("usher explain: %w", err)
	}
	found := map[string]*explanation{}
	for _, e := range result.Explanations {
		found[e.Object] = e
	}
	return found, nil
}

// compareExplain compares the result of usher explain for the next pod with what
// the cluster does. denial is who denies the object or its pod; "" for nobody.
// explain ignores the consequences of an own Network.
func compareExplain(surface string, s *scene, denial string, cluster *outcome, e *explanation) []difference {
	if s.ownNetwork {
		return nil
	}
	if e == nil {
		return []difference{{surface + " says nothing", s.kind(), denial, "nothing"}}
	}
	denied := denial != ""
	if !denied && e.Next.Reason == "policy-denied" && fmt.Sprint(at(s.Object, "spec")["replicas"]) == "1" {
		return nil // kubectl apply would tell the cluster that it is not the default
	}
	if surface == dryRun && !denied && strings.HasPrefix(e.Next.Unknown, "the API server admits the pod") {
		return nil // of a pod whose template has its name
	}
	if denied != e.Next.Denied || e.Next.Unknown != "" {
		by, _, _ := strings.Cut(denial, ":")
		return []difference{{surface + "'s verdict differs", strings.TrimSpace(s.kind() + " " + by), cmp.Or(denial, "admitted"), fmt.Sprintf("%+v", e.Next)}}
	}
	want := map[string]string{}
	for name, reason := range cluster.Reasons {
		if strings.HasPrefix(name, "template ") {
			want[name] = reason
		}
	}
	if diff := gocmp.Diff(want, e.reasons()); !denied && cluster.Reasons != nil && diff != "" && surface != dryRun {
		return []difference{{surface + "'s reasons differ", reasons(want) + "/" + reasons(e.reasons()), fmt.Sprint(want), fmt.Sprint(e.reasons())}}
	}
	return nil
}

// dryRun is the surface that explains without the right to read templates: it sees
// what a pod gets, and not why.
const dryRun = "explain by dry run"

// denial returns who denies an object, or the pod of an admitted workload, and
// why; "" if nobody does.
func (p *played) denial() string {
	for _, a := range []*admission.Answer{&p.Answer, p.pod} {
		switch {
		case a == nil || a.Object != nil:
		case a.DeniedBy() != "":
			return "denied by usher: " + a.Message
		default:
			return "refused by the API server: " + a.Message
		}
	}
	return ""
}
