package status

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/finding"
)

const (
	webhookSection     = "webhook"
	controllersSection = "controllers"
)

// componentLabel selects the objects of one of usher's programs.
func componentLabel(component string) string {
	return wellknown.LabelComponent + "=" + component
}

// component reads the Deployments and pods of one of usher's programs. They are
// found by label, because a chart's release names them; others use the label, too.
func (c *Cluster) component(ctx context.Context, component string) (deployments []appsv1.Deployment, pods []corev1.Pod, doing string, err error) {
	found, err := c.Clients.AppsV1().Deployments(c.Own).List(ctx, metav1.ListOptions{LabelSelector: componentLabel(component)})
	if err != nil {
		return nil, nil, "list deployments in namespace " + c.Own, err
	}
	deployments = slices.DeleteFunc(found.Items, func(d appsv1.Deployment) bool { return image(d.Spec.Template.Spec) == "" })
	pods, doing, err = c.pods(ctx, component)
	return deployments, pods, doing, err
}

// pods reads the pods of one of usher's programs. doing is what failed.
func (c *Cluster) pods(ctx context.Context, component string) (pods []corev1.Pod, doing string, err error) {
	found, err := c.Clients.CoreV1().Pods(c.Own).List(ctx, metav1.ListOptions{LabelSelector: componentLabel(component)})
	if err != nil {
		return nil, "list pods in namespace " + c.Own, err
	}
	return slices.DeleteFunc(found.Items, func(p corev1.Pod) bool { return image(p.Spec) == "" }), "", nil
}

// image is that of usher's container; "" without one.
func image(spec corev1.PodSpec) string {
	for _, container := range spec.Containers {
		if container.Name == wellknown.Usher {
			return container.Image
		}
	}
	return ""
}

// webhook checks the replicas that the API server calls.
func (c *Cluster) webhook(ctx context.Context) []Check {
	deployments, pods, doing, err := c.component(ctx, "webhook")
	if err != nil {
		return []Check{unread(webhookSection, "replicas", doing, err)}
	}
	if len(deployments) == 0 {
		return []Check{{
			webhookSection, "replicas", Failed, fmt.Sprintf("namespace %s has no Deployment of the webhook", c.Own),
			"usher install | kubectl apply -f -, or name usher's namespace with --usher-namespace",
		}}
	}
	return c.replicas(webhookSection, "webhook", deployments, pods)
}

// controllers checks the controllers, which an installation may leave out.
func (c *Cluster) controllers(ctx context.Context) []Check {
	deployments, pods, doing, err := c.component(ctx, "controller")
	if err != nil {
		return []Check{unread(controllersSection, "replicas", doing, err)}
	}
	if len(deployments) == 0 {
		return []Check{{Section: controllersSection, Name: "replicas", State: OK, Message: "not installed"}}
	}
	checks := c.replicas(controllersSection, "controller", deployments, pods)
	lease, err := c.Clients.CoordinationV1().Leases(c.Own).Get(ctx, wellknown.ControllerLease, metav1.GetOptions{})
	return append(checks, c.confirmed(controllersSection, "confirmed", "controller", wellknown.ControllerLease, lease, err))
}

// replicas checks the Deployments of a component and their pods.
func (c *Cluster) replicas(section, component string, deployments []appsv1.Deployment, pods []corev1.Pod) []Check {
	var checks []Check
	var images []string
	for i := range deployments {
		check := ready(&deployments[i])
		check.Section = section
		if check.State != OK {
			check.Remedy = fmt.Sprintf("kubectl -n %s get pods -l %s\nkubectl -n %s describe deployment %s", c.Own, componentLabel(component), c.Own, deployments[i].Name)
		}
		checks = append(checks, check)
	}
	for i := range pods {
		images = append(images, image(pods[i].Spec))
	}
	images = sorted(images)
	version := Check{Section: section, Name: "version", State: OK, Message: few(images)}
	if len(images) > 1 {
		version.State, version.Message = Warning, "several versions run: "+few(images)
		version.Remedy = fmt.Sprintf("kubectl -n %s rollout status deployment/%s", c.Own, deployments[0].Name)
	}
	if len(images) > 0 {
		checks = append(checks, version)
	}
	restarts := restarted(pods, c.Now)
	check := Check{Section: section, Name: "restarts", State: OK, Message: "none in the last hour"}
	if len(restarts) > 0 {
		check.State, check.Message = Warning, "in the last hour: "+few(restarts)
		check.Remedy = fmt.Sprintf("kubectl -n %s logs -l %s --previous", c.Own, componentLabel(component))
	}
	return append(checks, check)
}

// ready compares the ready replicas of a Deployment with those that it asks for.
func ready(d *appsv1.Deployment) Check {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	check := Check{Name: "replicas", State: OK, Message: fmt.Sprintf("%d of %d of %s are ready", d.Status.ReadyReplicas, want, d.Name)}
	switch {
	case d.Status.ReadyReplicas == 0:
		check.State = Failed
	case d.Status.ReadyReplicas < want:
		check.State = Warning
	}
	return check
}

// restarted lists the pods with containers that ended in the last hour.
func restarted(pods []corev1.Pod, now time.Time) []string {
	var names []string
	for i := range pods {
		for _, s := range pods[i].Status.ContainerStatuses {
			last := s.LastTerminationState.Terminated
			if last == nil || now.Sub(last.FinishedAt.Time) > time.Hour {
				continue
			}
			names = append(names, fmt.Sprintf("%s (%s, exit code %d, %s)", pods[i].Name, last.Reason, last.ExitCode, finding.Count(int(s.RestartCount), "restart")))
		}
	}
	return sorted(names)
}
