package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	samplecrdv1 "github.com/usher-dev/usher/api/samplecrd/v1"
	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector/template"
)

// customResources are usher's, in the order in which to delete them: a restore
// holds its cluster.
var customResources = []struct {
	kind     string
	resource schema.GroupVersionResource
}{
	{"EtcdRestore", etcdv1beta2.GroupVersion.WithResource("etcdrestores")},
	{"EtcdBackup", etcdv1beta2.GroupVersion.WithResource("etcdbackups")},
	{"EtcdCluster", etcdv1beta2.GroupVersion.WithResource("etcdclusters")},
	{samplecrdv1.Kind, samplecrdv1.GroupVersion().WithResource("networks")},
}

// claimSelectors select the claims of etcd clusters.
var claimSelectors = []string{wellknown.LabelEtcdCluster, wellknown.LabelEtcdSetAside}

// shown is how many objects of a kind are listed by name.
const shown = 10

// left lists the remaining objects of usher, and the commands that remove them.
func (u *uninstall) left(ctx context.Context) error {
	var steps []string
	step := func(remain bool, command, why string) {
		if remain {
			steps = append(steps, fmt.Sprintf("  %s   # %s", command, why))
		}
	}
	var resources, definitions []string
	for _, r := range customResources {
		found, err := u.list(ctx, r.kind, r.resource, "")
		if err != nil {
			return err
		}
		u.print(found)
		if found.count > 0 {
			resources = append(resources, r.resource.GroupResource().String())
		}
	}
	step(len(resources) > 0, "kubectl delete "+strings.Join(resources, ",")+" --all --all-namespaces", "while usher's controllers run: finalizers wait for them")
	installed, err := u.installed(ctx)
	if err != nil {
		return err
	}
	step(installed, "kubectl delete -f usher.yaml --ignore-not-found", "or: helm uninstall RELEASE -n "+u.namespace)
	for _, r := range customResources {
		name := r.resource.GroupResource().String()
		_, err := u.objects.Resource(definition).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("looking for remaining objects: %w", err)
		}
		fmt.Fprintf(u.out, "CustomResourceDefinition %s: stays\n", name)
		definitions = append(definitions, name)
	}
	step(len(definitions) > 0, "kubectl delete customresourcedefinitions "+strings.Join(definitions, " "), "with all custom resources that are left")
	for _, selector := range claimSelectors {
		claims, err := u.list(ctx, "PersistentVolumeClaim", corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), selector)
		if err != nil {
			return err
		}
		u.print(claims)
		step(claims.count > 0, "kubectl delete persistentvolumeclaims --all-namespaces -l "+selector, "with the data of etcd clusters")
	}
	if len(steps) > 0 {
		fmt.Fprintf(u.out, "To remove the rest, in this order:\n%s\n", strings.Join(steps, "\n"))
	}
	return nil
}

var definition = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// installed lists what remains of usher itself, and reports whether there is
// anything. If only its namespace was deleted, its ClusterRole remains.
func (u *uninstall) installed(ctx context.Context) (bool, error) {
	deployments, err := u.clients.AppsV1().Deployments(u.namespace).List(ctx, metav1.ListOptions{LabelSelector: wellknown.LabelName + "=" + wellknown.Usher})
	if err != nil {
		return false, fmt.Errorf("looking for remaining objects: %w", err)
	}
	configMaps, err := u.clients.CoreV1().ConfigMaps(u.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("looking for remaining objects: %w", err)
	}
	found := false
	stays := func(kind, name string) {
		found = true
		fmt.Fprintf(u.out, "%s %s/%s: stays\n", kind, u.namespace, name)
	}
	for i := range deployments.Items {
		stays("Deployment", deployments.Items[i].Name)
	}
	for i := range configMaps.Items {
		if cm := &configMaps.Items[i]; cm.Name == config.ConfigMapName || template.NameOf(cm.Name, cm.Labels) != "" {
			stays("ConfigMap", cm.Name)
		}
	}
	bindings, err := u.clients.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{LabelSelector: wellknown.LabelName + "=" + wellknown.Usher + "," + wellknown.LabelComponent + "=webhook"})
	if err != nil {
		return false, fmt.Errorf("looking for remaining objects: %w", err)
	}
	for i := range bindings.Items {
		if b := &bindings.Items[i]; slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Namespace == u.namespace }) {
			found = true
			fmt.Fprintf(u.out, "ClusterRole %s: stays\n", b.RoleRef.Name)
		}
	}
	for _, t := range u.stored() {
		_, err := u.objects.Resource(t.resource).Namespace(t.namespace).Get(ctx, t.name, metav1.GetOptions{})
		if err == nil && (!u.all || u.dryRun == cli.DryRunNone) {
			stays(t.kind, t.name)
		}
	}
	return found, nil
}

// A remainder is what is left of a kind.
type remainder struct {
	kind  string
	count int
	// named are the first names, ending describes those that are being deleted.
	named, ending []string
}

// list lists the objects of a kind in all namespaces, if the cluster has that
// kind.
func (u *uninstall) list(ctx context.Context, kind string, resource schema.GroupVersionResource, labels string) (remainder, error) {
	r := remainder{kind: kind}
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return u.objects.Resource(resource).List(ctx, o)
	})
	err := pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: labels}, func(item runtime.Object) error {
		object, ok := item.(*metav1.PartialObjectMetadata)
		if !ok {
			return fmt.Errorf("the API server listed a %T", item)
		}
		r.count++
		name := object.Namespace + "/" + object.Name
		if object.DeletionTimestamp != nil {
			r.ending = append(r.ending, kind+" "+name+" "+waitsFor(object))
		} else if len(r.named) < shown {
			r.named = append(r.named, name)
		}
		return nil
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return r, fmt.Errorf("listing the %s: %w", resource.GroupResource(), err)
	}
	return r, nil
}

func (u *uninstall) print(r remainder) {
	for _, name := range r.named {
		fmt.Fprintf(u.out, "%s %s: stays\n", r.kind, name)
	}
	for _, text := range r.ending[:min(len(r.ending), shown)] {
		fmt.Fprintln(u.out, text)
	}
	if more := r.count - len(r.named) - min(len(r.ending), shown); more > 0 {
		fmt.Fprintf(u.out, "%s: %d more stay\n", r.kind, more)
	}
}
