package differential

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// A drifted is one finding of usher drift: a running pod, and a template that
// the next such pod has in another state.
type drifted struct {
	Template string `json:"template"`
	State    string `json:"state"`
}

func (d drifted) String() string { return d.Template + " " + d.State }

// A running is the command line's result for the running pods in the cluster.
type running struct {
	drift map[string][]drifted // by the pod's name
	// explanations are an administrator's, dryRuns a tenant's.
	explanations, dryRuns map[string]*explanation
}

// tenant is a user who may create pods, and may not read templates.
const tenant = "tenant"

// grant gives the tenant these rights in every namespace.
func grant(ctx context.Context, clients kubernetes.Interface) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: tenant}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "create"}},
	}}
	_, err := clients.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = clients.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: tenant},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: tenant}},
	}, metav1.CreateOptions{})
	return err
}

// running runs usher drift and usher explain on the cluster.
func (s *stand) running(ctx context.Context, b *batch) (*running, error) {
	r := &running{drift: map[string][]drifted{}, explanations: map[string]*explanation{}, dryRuns: map[string]*explanation{}}
	out, _, err := s.commandLine.run(ctx, "drift", "-A", "-o", "json", "--kubeconfig", s.kubeconfig)
	if err != nil {
		return nil, err
	}
	var result struct {
		Findings []struct {
			Pod string `json:"pod"`
			drifted
		} `json:"findings"`
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		return nil, fmt.Errorf("usher drift: %w", err)
	}
	for _, f := range result.Findings {
		r.drift[f.Pod] = append(r.drift[f.Pod], f.drifted)
	}
	pods := map[string][]string{}
	for _, sc := range b.Scenes {
		if sc.Earlier && !sc.refused {
			pods[sc.Namespace] = append(pods[sc.Namespace], sc.Name)
		}
	}
	for _, namespace := range sortedKeys(pods) {
		for as, into := range map[string]map[string]*explanation{"": r.explanations, tenant: r.dryRuns} {
			out, _, err := s.commandLine.run(ctx, append([]string{"explain", "pod", "-o", "json", "--kubeconfig", s.kubeconfig, "--as", as, "-n", namespace}, pods[namespace]...)...)
			found, readErr := explanations(out)
			if err := errors.Join(err, readErr); err != nil {
				return nil, err
			}
			for name, e := range found {
				into[strings.TrimPrefix(name, "pod/")] = e
			}
		}
	}
	return r, nil
}

// compareDrift compares the result of usher drift for a running pod with that
// of the cluster for creating the same pod again.
func compareDrift(s *scene, cluster *outcome, found []drifted) []difference {
	denied := cluster.Denied && firstStage(cluster) < judging
	var want []drifted
	if denied {
		// A denial names no other template of the pod, so only the state and
		// existence of drift's findings can be compared.
		if slices.ContainsFunc(cluster.Findings, asksForTemplate) && len(found) == 0 {
			return []difference{{"drift misses a pod that is denied", s.kind(), list(cluster.Findings), "nothing"}}
		}
		for _, d := range found {
			if d.State != "denied" {
				want = append(want, drifted{d.Template, "denied"})
			}
		}
		if len(want) > 0 {
			return []difference{{"drift does not say that the pod is denied", s.kind(), list(cluster.Findings), fmt.Sprint(found)}}
		}
		return nil
	}
	for _, name := range sortedKeys(cluster.Reasons) {
		template, ok := strings.CutPrefix(name, "template ")
		if !ok || cluster.Reasons[name] != "injected" {
			continue
		}
		state := "missing"
		if recorded(s.Object, template) {
			state = "outdated"
		}
		if cluster.Denied {
			state = "denied" // by the rules
		}
		want = append(want, drifted{template, state})
	}
	found = slices.Clone(found)
	slices.SortFunc(found, func(a, b drifted) int { return cmp.Compare(a.Template, b.Template) })
	if diff := gocmp.Diff(want, found); diff != "" {
		return []difference{{"drift differs", fmt.Sprintf("%v/%v", states(want), states(found)), fmt.Sprint(want), fmt.Sprint(found)}}
	}
	return nil
}

// asksForTemplate reports whether a finding denies a pod because of a template
// that the pod validly asks for.
func asksForTemplate(f finding) bool {
	return f.Effect == denies && (f.Rule == "inject-template-missing" || f.Rule == "inject-template-invalid" ||
		strings.HasPrefix(f.Rule, "inject-conflict-"))
}

// recorded reports whether the record of a pod names a template.
func recorded(pod object, template string) bool {
	text, _ := at(pod, "metadata", "annotations")["usher.dev/injected"].(string)
	var record map[string]any
	return json.Unmarshal([]byte(text), &record) == nil && record[template] != nil
}

func states(found []drifted) []string {
	var all []string
	for _, d := range found {
		all = append(all, d.State)
	}
	return all
}
