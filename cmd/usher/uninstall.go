package main

import (
	"context"
	"errors"
	"fmt"
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

Deleting usher's ClusterRole, as with its manifest or its chart, removes the
webhook configurations, too. uninstall is for everything else: an emergency, or a
cluster whose garbage collector is down.

Exit status: 0 removed, 1 something could not be removed or does not end, 2 bad
usage.`,
		Args: cobra.NoArgs,
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
			if err := u.run(cmd.Context()); err != nil {
				return cli.Exit(cli.Failed, err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&u.namespace, "namespace", cli.Namespace, "usher's own namespace")
	f.BoolVar(&u.all, "all", false, "also remove the Lease, the CA's Secret and the last valid configuration")
	f.StringVar(&u.dryRun, "dry-run", dryRunNone, "none, client (show what would be removed) or server (also ask the API server whether it would succeed)")
	f.Lookup("dry-run").NoOptDefVal = dryRunClient // as in kubectl
	f.BoolVar(&u.wait, "wait", true, "wait until the removed objects, and custom resources that are being deleted, are gone")
	f.DurationVar(&u.timeout, "timeout", time.Minute, "with --wait: how long to wait")
	connect.Register(f)
	return cmd
}

// The values of --dry-run, which are kubectl's.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

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
	switch u.dryRun {
	case dryRunNone, dryRunClient, dryRunServer:
	default:
		return fmt.Errorf("--dry-run is %q; write none, client or server", u.dryRun)
	}
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

var registered = []target{
	{"MutatingWebhookConfiguration", admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations"), "", registration.ConfigurationName},
	{"ValidatingWebhookConfiguration", admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations"), "", registration.ConfigurationName},
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
	removed := registered
	if u.all && holder == "" {
		removed = append(removed[:len(removed):len(removed)], u.stored()...)
	}
	for _, t := range removed {
		if err := u.remove(ctx, t); err != nil {
			return err
		}
	}
	if holder != "" && u.dryRun == dryRunNone {
		if err := u.removeAgain(ctx); err != nil {
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
func (u *uninstall) removeAgain(ctx context.Context) error {
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
	if holder = heldBy(lease, time.Now()); holder == "" || u.dryRun == dryRunClient {
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
	if u.dryRun == dryRunServer {
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
	if u.dryRun == dryRunClient {
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
	case u.dryRun != dryRunNone:
		fmt.Fprintf(u.out, "%s: would be removed\n", t)
	default:
		fmt.Fprintf(u.out, "%s: removed\n", t)
	}
	return nil
}
