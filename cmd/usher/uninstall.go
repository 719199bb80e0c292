package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/webhook/registration"
)

func newUninstall(s streams) *cobra.Command {
	u := uninstall{streams: s}
	var connect cli.Connection
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the webhook configurations, so that the API server no longer calls usher",
		Long: `uninstall removes the webhook configurations, and then lists the remaining objects
of usher, and the commands that remove them, in their order. It works while usher
is down.

While a replica runs, which would register again, uninstall takes the Lease for
five minutes, so that you can delete the Deployment that it names. --all also
removes the Lease, the CA's Secret and the last valid configuration if no replica
runs.

If kubectl refuses changes with "failed calling webhook", and usher will not run
again, this command ends that without usher's command line:

  kubectl delete clusterrole usher-webhook

Kubernetes deletes the webhook configurations along with the ClusterRole, as with
usher's manifest or its chart. If the cluster's garbage collector is down, use
uninstall.

Exit status: 0 removed, 1 something could not be removed or does not end, 2 bad
usage or a cluster that cannot be reached.`,
		Args: cli.NoArguments("it removes the installation whose namespace -n names"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := u.validate(); err != nil {
				return err
			}
			config, err := connect.Config()
			if err != nil {
				return err
			}
			config.QPS, config.Burst = 50, 100
			if u.clients, err = kubernetes.NewForConfig(config); err != nil {
				return err
			}
			if u.objects, err = metadata.NewForConfig(config); err != nil {
				return err
			}
			err = u.run(cmd.Context())
			if err == nil || cli.Unreachable(err) {
				return err
			}
			return cli.Exit(cli.Failed, err)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&u.namespace, cli.NamespaceFlag, "n", cli.Namespace, "usher's own namespace")
	f.SetNormalizeFunc(cli.OwnNamespaceAlias)
	f.BoolVar(&u.all, "all", false, "also remove the Lease, the CA's Secret and the last valid configuration")
	cli.DryRun(cmd, &u.dryRun, "only show what would be removed (client), or also ask the API server (server)")
	f.BoolVar(&u.wait, "wait", true, "wait until the removed objects, and custom resources that are being deleted, are gone")
	f.DurationVar(&u.timeout, "timeout", time.Minute, "with --wait: how long to wait")
	connect.RegisterUser(cmd)
	cli.Complete(cmd, connect.CompleteNamespaces, cli.NamespaceFlag)
	cli.Without(cmd, "it removes one installation, whose namespace -n names", cli.AllNamespacesFlag)
	cli.Without(cmd, "it removes a whole installation, whose namespace -n names", cli.SelectorFlag)
	return cmd
}

// uninstaller holds the Lease while replicas must not register.
const (
	uninstaller     = "usher-uninstall"
	uninstallerTime = 5 * time.Minute
	caSecret        = "usher-ca"
)

type uninstall struct {
	streams
	clients   kubernetes.Interface
	objects   metadata.Interface
	namespace string
	all       bool
	dryRun    string
	wait      bool
	timeout   time.Duration
}

func (u *uninstall) validate() error {
	if u.timeout <= 0 {
		return fmt.Errorf("--timeout is %s; write a duration above zero, such as 1m, or --wait=false", u.timeout)
	}
	return nil
}

// A target is an object that uninstall removes.
type target struct {
	kind            string
	resource        schema.GroupVersionResource
	namespace, name string
}

func (t target) String() string {
	if t.namespace == "" {
		return t.kind + " " + t.name
	}
	return t.kind + " " + t.namespace + "/" + t.name
}

// registered returns the webhook configurations of the installation.
func (u *uninstall) registered(ctx context.Context) ([]target, error) {
	var found []target
	for kind, resource := range map[string]string{"MutatingWebhookConfiguration": "mutatingwebhookconfigurations", "ValidatingWebhookConfiguration": "validatingwebhookconfigurations"} {
		t := target{kind: kind, resource: admissionregistrationv1.SchemeGroupVersion.WithResource(resource), name: wellknown.DefaultConfigurationName}
		all, err := u.objects.Resource(t.resource).List(ctx, metav1.ListOptions{LabelSelector: wellknown.LabelManagedBy + "=usher"})
		if err != nil {
			return nil, fmt.Errorf("reading the %ss: %w", kind, err)
		}
		absent := true // so that its default name is reported as not found
		for i := range all.Items {
			if name := all.Items[i].Name; wellknown.BelongsTo(u.namespace, name, all.Items[i].Labels) {
				found, absent = append(found, target{kind: kind, resource: t.resource, name: name}), false
			} else if name == wellknown.DefaultConfigurationName {
				absent = false // another installation has it
			}
		}
		if absent {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b target) int { return strings.Compare(a.kind, b.kind) })
	return found, nil
}

// stored returns the objects that replicas store in usher's namespace.
func (u *uninstall) stored() []target {
	return []target{
		{"Secret", corev1.SchemeGroupVersion.WithResource("secrets"), u.namespace, caSecret},
		{"ConfigMap", corev1.SchemeGroupVersion.WithResource("configmaps"), u.namespace, config.LastValidName},
		{"Lease", coordinationv1.SchemeGroupVersion.WithResource("leases"), u.namespace, registration.LeaseName},
	}
}

func (u *uninstall) run(ctx context.Context) error {
	holder, err := u.takeLease(ctx)
	if err != nil {
		return err
	}
	registered, err := u.registered(ctx)
	if err != nil {
		return err
	}
	removed := registered
	if u.all && holder == "" {
		removed = append(removed[:len(removed):len(removed)], u.stored()...)
	}
	for _, t := range removed {
		if err := u.remove(ctx, t); err != nil {
			return err
		}
	}
	if holder != "" && u.dryRun == cli.DryRunNone {
		if err := u.removeAgain(ctx, registered); err != nil {
			return err
		}
	}
	unfinished := u.await(ctx, removed)
	if err := u.left(ctx); err != nil {
		return errors.Join(unfinished, err)
	}
	if holder != "" {
		fmt.Fprintf(u.err, "%s runs, and will register again in %s: delete usher's Deployment first\n", holder, uninstallerTime)
		if u.all {
			return errors.Join(unfinished, fmt.Errorf("the Lease, the Secret and the ConfigMap stay while usher runs: delete its Deployment, then run this command again"))
		}
	}
	return unfinished
}

// removeAgain removes what a replica wrote that had checked the Lease just
// before it was taken.
func (u *uninstall) removeAgain(ctx context.Context, registered []target) error {
	err := wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, time.Second, true, func(context.Context) (bool, error) {
		for _, t := range registered {
			if err := u.delete(ctx, t); err != nil && !apierrors.IsNotFound(err) {
				return false, err
			}
		}
		return false, nil
	})
	if err != nil && !wait.Interrupted(err) {
		return fmt.Errorf("removing what was registered in the meantime: %w", err)
	}
	return nil
}

// takeLease prevents a running replica from registering again, and returns its
// name.
func (u *uninstall) takeLease(ctx context.Context) (holder string, err error) {
	leases := u.clients.CoordinationV1().Leases(u.namespace)
	lease, err := leases.Get(ctx, registration.LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the Lease: %w", err)
	}
	if holder = heldBy(lease, time.Now()); holder == "" || u.dryRun == cli.DryRunClient {
		return holder, nil
	}
	// A patch does not conflict with the holder's renewals.
	now := metav1.NowMicro().UTC().Format(metav1.RFC3339Micro)
	patch := fmt.Sprintf(`{"spec":{"holderIdentity":%q,"leaseDurationSeconds":%d,"acquireTime":%q,"renewTime":%q}}`,
		uninstaller, int(uninstallerTime.Seconds()), now, now)
	if _, err := leases.Patch(ctx, registration.LeaseName, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: u.onServer()}); err != nil {
		return "", fmt.Errorf("taking the Lease: %w", err)
	}
	return holder, nil
}

// onServer is the option of requests that change nothing with
// --dry-run=server.
func (u *uninstall) onServer() []string {
	if u.dryRun == cli.DryRunServer {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// heldBy returns the replica that currently holds a Lease, or "".
func heldBy(lease *coordinationv1.Lease, now time.Time) string {
	s := lease.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity == uninstaller || s.RenewTime == nil || s.LeaseDurationSeconds == nil ||
		now.After(s.RenewTime.Add(time.Duration(*s.LeaseDurationSeconds)*time.Second)) {
		return ""
	}
	return *s.HolderIdentity
}

// delete deletes an object; with --dry-run=client it only reads it.
func (u *uninstall) delete(ctx context.Context, t target) error {
	objects := u.objects.Resource(t.resource).Namespace(t.namespace)
	if u.dryRun == cli.DryRunClient {
		_, err := objects.Get(ctx, t.name, metav1.GetOptions{})
		return err
	}
	return objects.Delete(ctx, t.name, metav1.DeleteOptions{DryRun: u.onServer()})
}

func (u *uninstall) remove(ctx context.Context, t target) error {
	err := u.delete(ctx, t)
	switch {
	case apierrors.IsNotFound(err):
		fmt.Fprintf(u.out, "%s: not found\n", t)
	case err != nil:
		return fmt.Errorf("removing the %s: %w", t, err)
	case u.dryRun != cli.DryRunNone:
		fmt.Fprintf(u.out, "%s: would be removed\n", t)
	default:
		fmt.Fprintf(u.out, "%s: removed\n", t)
	}
	return nil
}
