package status

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/facts/refused"
	"github.com/usher-dev/usher/injector"
)

const (
	injectionSection = "injection"
	// mostTried limits how many templates are tried.
	mostTried = 5
	// absent is a template that does not exist: usher denies pods that ask for it.
	absent = "usher-status-asks-whether-usher-answers"
)

// injection creates a pod with a dry run, so that the API server calls usher and
// stores nothing.
func (c *Cluster) injection(ctx context.Context) []Check {
	check := Check{Section: injectionSection, Name: "dry run", State: Unknown}
	if c.configurations != nil && len(c.configurations.mutating) == 0 {
		check.Message = "not tried, because usher is not registered"
		return []Check{check}
	}
	if labels, err := c.NamespaceLabels(ctx, c.Try); err == nil && c.scope.Excludes(c.Try, labels) {
		check.Message = "not tried, because usher does not serve the namespace " + c.Try
		check.Remedy = "name another namespace with -n"
		return []Check{check}
	}
	allowed, err := may(ctx, c.Clients, authorizationv1.ResourceAttributes{Namespace: c.Try, Verb: "create", Resource: "pods"})
	switch {
	case err != nil:
		return []Check{unread(injectionSection, check.Name, "create selfsubjectaccessreviews", err)}
	case !allowed:
		check.Message = "you may not create pods in namespace " + c.Try
		check.Remedy = "ask an administrator for this right, or name another namespace with -n"
		return []Check{check}
	}
	var names []string
	if c.Templates != nil {
		names = slices.DeleteFunc(c.Templates.Names(), func(name string) bool {
			entry, _ := c.Templates.Get(name)
			return entry.Err != nil || strings.Contains(name, "/") // a revision
		})
	}
	if len(names) == 0 {
		return []Check{c.answers(ctx)}
	}
	var first *Check
	for _, name := range names[:min(len(names), mostTried)] {
		created, err := c.Clients.CoreV1().Pods(c.Try).Create(ctx, trialPod(name), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		tried := c.injected(name, created, err)
		if tried.State == OK {
			return []Check{tried}
		}
		if first == nil {
			first = &tried
		}
	}
	return []Check{*first}
}

// injected checks that a pod came back with the template that it asked for.
func (c *Cluster) injected(template string, created *corev1.Pod, err error) Check {
	check := Check{Section: injectionSection, Name: "dry run", State: Failed, Remedy: c.logs("webhook")}
	if err != nil {
		check.Message = fmt.Sprintf("the API server refuses a pod in namespace %s that asks for the template %s: %s", c.Try, template, causes(err))
		if apierrors.IsNotFound(err) {
			check.Remedy = "create the namespace, or name another with -n"
		}
		return check
	}
	record, problem := injector.ParseRecord(created.Annotations)
	entry, recorded := record[template]
	if problem != nil || !recorded {
		check.Message = fmt.Sprintf("a pod in namespace %s that asks for the template %s came back without it: the API server did not call usher, or usher did not answer", c.Try, template)
		return check
	}
	var has []string
	for _, container := range slices.Concat(created.Spec.InitContainers, created.Spec.Containers) {
		has = append(has, container.Name)
	}
	for _, name := range slices.Concat(entry.InitContainers, entry.Containers) {
		if !slices.Contains(has, name) {
			check.Message = fmt.Sprintf("a pod in namespace %s that asks for the template %s came back without its container %s, which another webhook removed", c.Try, template, name)
			return check
		}
	}
	check.State, check.Remedy = OK, ""
	check.Message = fmt.Sprintf("a pod in namespace %s that asks for the template %s gets it", c.Try, template)
	return check
}

// answers checks that usher denies a pod that asks for a template that does not
// exist: that needs no template, nor the right to read them.
func (c *Cluster) answers(ctx context.Context) Check {
	_, err := c.Clients.CoreV1().Pods(c.Try).Create(ctx, trialPod(absent), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return answered(c.Try, c.logs("webhook"), err)
}

// answered reads the API server's answer about a pod that usher must deny.
func answered(namespace, logs string, err error) Check {
	check := Check{Section: injectionSection, Name: "dry run", State: Failed, Remedy: logs}
	if err == nil {
		check.Message = fmt.Sprintf("the API server admits a pod in namespace %s that asks for a template that does not exist, which usher denies: the API server did not call usher, or usher did not answer", namespace)
		return check
	}
	if found, ok := refused.ByUsher(err.Error()); ok && !found.Unreached {
		check.State, check.Remedy = OK, ""
		check.Message = fmt.Sprintf("usher answers: it denies a pod in namespace %s that asks for a template that does not exist", namespace)
		return check
	}
	check.Message = fmt.Sprintf("the API server refuses a pod in namespace %s: %s", namespace, causes(err))
	return check
}

// trialPod is a pod that asks for a template, and that the strictest level of Pod
// Security and a quota of resources admit.
func trialPod(template string) *corev1.Pod {
	yes, no, id := true, false, int64(65532)
	resources := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("1Mi")}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "usher-status-", Annotations: map[string]string{wellknown.InjectPrefix + template: "true"}},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &id, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: "app", Image: "registry.k8s.io/pause:3.10",
				Resources: corev1.ResourceRequirements{Requests: resources, Limits: resources},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}
