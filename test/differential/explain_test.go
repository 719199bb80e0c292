package differential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// An explanation is the result of usher explain for the next pod of a scene.
type explanation struct {
	Object string `json:"object"`
	Next   struct {
		Denied    bool   `json:"denied"`
		Reason    string `json:"reason"`
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
	out, _, err := c.run(ctx, "explain", "-o", "json", "-t", d.sub("templates"), "-f", d.sub("namespaces"), "-f", d.sub("scenes"))
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

// compareExplain compares the result of usher explain for the next pod with
// that of the cluster. explain ignores the rules, and the consequences of an
// own Network.
func compareExplain(s *scene, cluster *outcome, e *explanation) []difference {
	byRules := cluster.Denied && firstStage(cluster) == judging
	if byRules || s.ownNetwork {
		return nil
	}
	if e == nil {
		return []difference{{"explain says nothing", s.kind(), verdict(cluster.Denied, cluster.PodsDenied), "nothing"}}
	}
	denied := cluster.Denied || cluster.PodsDenied
	if denied != e.Next.Denied {
		return []difference{{"explain's verdict differs", s.kind(), fmt.Sprint(denied), fmt.Sprintf("%t: %s", e.Next.Denied, e.Next.Reason)}}
	}
	want := map[string]string{}
	for name, reason := range cluster.Reasons {
		if strings.HasPrefix(name, "template ") {
			want[name] = reason
		}
	}
	if diff := cmp.Diff(want, e.reasons()); !denied && cluster.Reasons != nil && diff != "" {
		return []difference{{"explain's reasons differ", reasons(want) + "/" + reasons(e.reasons()), fmt.Sprint(want), fmt.Sprint(e.reasons())}}
	}
	return nil
}
