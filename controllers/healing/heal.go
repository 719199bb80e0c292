package healing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/facts/drift"
	"github.com/usher-dev/usher/facts/kubeconfig"
)

// heal restarts the workloads whose pods lack a template, while usher serves.
func (c *Controller) heal(ctx context.Context, missing []drift.Finding) error {
	since, err := c.serving(ctx)
	if err != nil || since.IsZero() {
		return err
	}
	clusterNow, err := kubeconfig.Connect(ctx, c.config, c.installation())
	if err != nil {
		return err
	}
	if !clusterNow.IsRegistered {
		return nil
	}
	causes := map[string][]string{} // by workload
	for _, f := range missing {
		workload := f.Namespace + "/" + f.Owner
		if cause := f.Template + "@" + since.UTC().Format(time.RFC3339); !slices.Contains(causes[workload], cause) {
			causes[workload] = append(causes[workload], cause)
		}
	}
	restart := drift.Restart{
		Cluster: clusterNow, AtOnce: 1, Timeout: rolloutTimeout, Poll: time.Second, Pause: c.options.Rate,
		Progress: logged{c.log}, Now: time.Now,
		Record: func(namespace, owner string, annotations map[string]string) (map[string]string, error) {
			return record(annotations, causes[namespace+"/"+owner])
		},
	}
	return restart.Run(ctx, missing)
}

// record returns the annotations of a workload that is restarted for some
// causes, or drift.ErrLeave if it was already restarted for all of them.
func record(annotations map[string]string, causes []string) (map[string]string, error) {
	before := strings.Split(annotations[wellknown.AnnotationHealed], ",")
	if !slices.ContainsFunc(causes, func(cause string) bool { return !slices.Contains(before, cause) }) {
		return nil, fmt.Errorf("%w: it was already restarted for this (%s), and its pods still lack the template", drift.ErrLeave, annotations[wellknown.AnnotationHealed])
	}
	slices.Sort(causes)
	return map[string]string{wellknown.AnnotationHealed: strings.Join(causes, ",")}, nil
}

// serving returns since when the webhook has served without interruption; zero
// if it does not. The end of each outage is a new cause to heal.
func (c *Controller) serving(ctx context.Context) (time.Time, error) {
	d := &appsv1.Deployment{}
	err := c.reader.Get(ctx, client.ObjectKey{Namespace: c.options.Namespace, Name: c.options.Deployment}, d)
	if apierrors.IsNotFound(err) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the webhook's Deployment: %w", err)
	}
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentAvailable && condition.Status == corev1.ConditionTrue && d.Status.AvailableReplicas > 0 {
			return condition.LastTransitionTime.Time, nil
		}
	}
	return time.Time{}, nil
}

// logged writes the progress of a restart to the log, line by line.
type logged struct{ log logr.Logger }

func (l logged) Write(text []byte) (int, error) {
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		l.log.Info(line)
	}
	return len(text), nil
}
