package differential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/test/admission"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
)

// A cluster is the API server with the webhook.
type cluster struct {
	*controlplane.ControlPlane
	server *admission.Server
	// granted is true once usher's account and namespaces exist.
	granted bool
	// batches counts the batches.
	batches int
}

const ownNamespace = controlplane.Namespace

// atOnce is how many requests are sent at once.
const atOnce = 8

// play creates the objects of a batch while usher is not registered, so that
// they include what usher would refuse, starts usher and sends the scenes. It
// calls then with the answers before usher stops, and sends the scenes that
// then returns, too.
func (c *cluster) play(ctx context.Context, b *batch, then func(map[string]*played) []*scene) (map[string]*played, error) {
	c.batches++
	plays, err := c.performance(ctx, b, then)
	return plays, errors.Join(err, c.strike(ctx, b))
}

func (c *cluster) performance(ctx context.Context, b *batch, then func(map[string]*played) []*scene) (map[string]*played, error) {
	if err := c.stage(ctx, b); err != nil {
		return nil, fmt.Errorf("setting the stage: %w", err)
	}
	start := usherwebhook.StartReplica
	if !c.granted {
		start = usherwebhook.Start
	}
	usher, err := start(ctx, c.ControlPlane, logr.Discard())
	if err != nil {
		return nil, err
	}
	c.granted = true
	plays, err := c.perform(ctx, b, then)
	return plays, errors.Join(err, usher.Stop())
}

// perform sends the scenes once usher is called.
func (c *cluster) perform(ctx context.Context, b *batch, then func(map[string]*played) []*scene) (map[string]*played, error) {
	if err := c.untilAsked(ctx, b); err != nil {
		return nil, fmt.Errorf("waiting until usher is asked: %w", err)
	}
	plays := map[string]*played{}
	if err := c.sendAll(ctx, b.Scenes, plays); err != nil {
		return nil, err
	}
	if then == nil {
		return plays, nil
	}
	return plays, c.sendAll(ctx, then(plays), plays)
}

// stage creates the existing objects.
func (c *cluster) stage(ctx context.Context, b *batch) error {
	if err := c.unregister(ctx); err != nil {
		return err
	}
	create := func(o object, namespace string) error {
		made, err := c.server.Must(ctx, admission.Request{Method: http.MethodPost, Object: o, Namespace: namespace})
		if err != nil || o["status"] == nil {
			return err
		}
		into(made)["status"] = o["status"]
		_, err = c.server.Must(ctx, admission.Request{Method: http.MethodPut, Object: made, Namespace: namespace, Status: true})
		return err
	}
	if c.batches == 1 {
		if err := create(withLabels(core("Namespace", ownNamespace), nil), ""); err != nil {
			return err
		}
		if err := c.Account(ctx, ownNamespace); err != nil {
			return err
		}
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, n := range b.Namespaces {
		group.Go(func() error {
			if err := create(n.object(), ""); err != nil {
				return err
			}
			if err := c.Account(ctx, n.Name); err != nil {
				return err
			}
			for _, o := range n.Others {
				if err := create(clone(o), n.Name); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, t := range b.Templates {
		if err := create(t, ownNamespace); err != nil {
			return err
		}
	}
	if b.Configuration != "" {
		o := core("ConfigMap", "usher")
		o["data"] = object{"config.yaml": b.Configuration}
		if err := create(o, ownNamespace); err != nil {
			return err
		}
	}
	for _, s := range b.Scenes {
		before := s.Old
		if s.Earlier {
			before = s.Object
		}
		if before == nil {
			continue
		}
		group.Go(func() error {
			a, err := c.server.Send(ctx, admission.Request{Method: http.MethodPost, Object: before, Namespace: s.Namespace})
			s.refused = err == nil && a.Object == nil
			return err
		})
	}
	return group.Wait()
}

// strike removes what the next batch must not see.
func (c *cluster) strike(ctx context.Context, b *batch) error {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	configMaps := clients.CoreV1().ConfigMaps(ownNamespace)
	names := []string{}
	for _, t := range b.Templates {
		names = append(names, nameOf(at(t, "metadata")))
	}
	if b.Configuration != "" {
		names = append(names, "usher")
	}
	for _, name := range names {
		if err := configMaps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	now := int64(0)
	for _, n := range b.Namespaces {
		if err := clients.CoreV1().Pods(n.Name).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}); err != nil {
			return err
		}
		// The webhook reads only 500 of those in the cluster.
		networks := "/apis/samplecrd.k8s.io/v1/namespaces/" + n.Name + "/networks"
		if err := clients.RESTClient().Delete().AbsPath(networks).Do(ctx).Error(); err != nil {
			return err
		}
	}
	return nil
}

// unregister removes the registration of an usher that ended.
func (c *cluster) unregister(ctx context.Context) error {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	admission := clients.AdmissionregistrationV1()
	if err := admission.MutatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	return admission.ValidatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
}

// untilAsked waits until the API server calls usher on every path, because it
// learns about webhooks after their registration.
func (c *cluster) untilAsked(ctx context.Context, b *batch) error {
	pod := core("Pod", "is-usher-asked")
	into(pod, "metadata", "annotations")["initializer.kubernetes.io/no-such-template"] = "true"
	pod["spec"] = object{"containers": []any{object{"name": "app", "image": "app"}}}
	template := core("ConfigMap", "is-usher-asked-initializer")
	template["data"] = object{"config": "unknown: field"}
	for _, r := range []admission.Request{{Object: pod, Namespace: b.Namespaces[0].Name}, {Object: template, Namespace: ownNamespace}} {
		r.Method, r.DryRun = http.MethodPost, true
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			a, err := c.server.Send(ctx, r)
			return err == nil && a.DeniedBy() != "", err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// A played is the API server's result for a scene.
type played struct {
	scene *scene
	admission.Answer
	// pod is the answer for the pod of the admitted workload; nil if it has none.
	pod *admission.Answer
	// pass is what a second pass does with the pod; nil without a pod.
	pass *pass
}

// sendAll sends scenes as dry runs, so that they do not affect each other.
func (c *cluster) sendAll(ctx context.Context, scenes []*scene, plays map[string]*played) error {
	answers := map[string]*admission.Answer{}
	results := make([]*played, len(scenes))
	var group errgroup.Group
	group.SetLimit(atOnce)
	id := func(s *scene, what string) string {
		return fmt.Sprintf("%s%d-%s%s", admission.IDPrefix, c.batches, s.Name, what)
	}
	for i, s := range scenes {
		if s.refused {
			continue
		}
		group.Go(func() error {
			r := admission.Request{ID: id(s, ""), Method: http.MethodPost, Object: s.Object, Namespace: s.Namespace, DryRun: true}
			switch {
			case s.Old != nil:
				r.Method = http.MethodPut
			case s.Earlier:
				r.Object = again(s.Object)
			}
			a, err := c.server.Send(ctx, r)
			if err != nil {
				return err
			}
			p := &played{scene: s, Answer: *a}
			results[i] = p
			if p.Object == nil || podOf(p.Object) == nil {
				return nil
			}
			if s.kind() == "Pod" {
				p.pass, err = c.sendAgain(ctx, p, r.Object)
				return err
			}
			pod := podFrom(p.Object)
			p.pod, err = c.server.Send(ctx, admission.Request{ID: id(s, "-pod"), Method: http.MethodPost, Object: pod, Namespace: s.Namespace, DryRun: true, User: controllersUser})
			if err != nil {
				return err
			}
			p.pass, err = c.sendAgain(ctx, p, pod)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, p := range results {
		if p == nil {
			continue
		}
		plays[p.scene.Name] = p
		answers[id(p.scene, "")] = &p.Answer
		if p.pod != nil {
			answers[id(p.scene, "-pod")] = p.pod
		}
	}
	return c.server.Annotate(ctx, answers)
}

// again returns a running pod as if it was created once more.
func again(pod object) object {
	pod = clone(pod)
	into(pod, "metadata")["name"] = nameOf(at(pod, "metadata")) + "-again"
	return pod
}

// podFrom returns the pod that a workload's controller creates.
func podFrom(workload object) object {
	template := clone(podOf(workload))
	pod := core("Pod", nameOf(at(workload, "metadata"))+"-pod")
	pod["spec"] = template["spec"]
	metadata := into(pod, "metadata")
	for _, key := range []string{"labels", "annotations"} {
		if value := at(template, "metadata")[key]; value != nil {
			metadata[key] = value
		}
	}
	// The owner is a controller that is not built in: usher does not check
	// policies again for built-in ones, and this is about injection.
	kind, _ := workload["kind"].(string)
	if kind == "CronJob" {
		kind = "Job"
	}
	metadata["ownerReferences"] = []any{object{
		"apiVersion": "apps/v1", "kind": kind, "name": "owner", "uid": "00000000-0000-0000-0000-000000000001", "controller": true,
	}}
	return pod
}

// complete lets the API server complete a pod without calling usher, so that
// its defaults are the same in every compared pod.
func (c *cluster) complete(ctx context.Context, pod object) (object, error) {
	pod = clone(pod)
	metadata := into(pod, "metadata")
	metadata["namespace"] = ownNamespace
	a, err := c.server.Send(ctx, admission.Request{Method: http.MethodPost, Object: pod, Namespace: ownNamespace, DryRun: true})
	if err != nil {
		return nil, err
	}
	if a.Object == nil {
		return nil, fmt.Errorf("the API server refuses the pod: %s", a.Message)
	}
	return a.Object, nil
}

func core(kind, name string) object {
	return object{"apiVersion": "v1", "kind": kind, "metadata": object{"name": name}}
}

// stageOf returns the point of admission of a webhook, by its name.
func stageOf(webhook string) string {
	switch {
	case strings.HasSuffix(webhook, ".policy.usher.dev"):
		return "policy"
	case strings.HasSuffix(webhook, ".networks.usher.dev"), strings.HasSuffix(webhook, ".own-network.usher.dev"):
		return "network"
	case strings.HasSuffix(webhook, ".mandatory.usher.dev"):
		return "mandatory"
	case strings.HasSuffix(webhook, ".inject.usher.dev") && !strings.HasPrefix(webhook, "templates."):
		return "inject"
	}
	return webhook
}

// refused means that the API server refuses the object itself, so that nothing
// else can be compared.
func (p *played) refused() bool {
	return p.Object == nil && p.DeniedBy() == ""
}
