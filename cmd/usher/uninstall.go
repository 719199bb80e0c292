package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/usher-dev/usher/cmd/internal/cli"
	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/webhook/registration"
)

func newUninstall(s streams) *cobra.Command {
	u := uninstall{streams: s}
	var connect cli.Connection
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the webhook configurations, so that the API server no longer calls usher",
		Long: `uninstall removes the webhook configurations, and then lists the remaining objects
of usher. It works while usher is down.

While a replica runs, which would register again, uninstall takes the Lease for
five minutes, so that you can delete the Deployment that it names. --all also
removes the Lease, the CA's Secret and the last valid configuration if no replica
runs.

Exit status: 0 removed, 1 something could not be removed, 2 bad usage.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := connect.Config()
			if err != nil {
				return err
			}
			config.QPS, config.Burst = 50, 100
			if u.clients, err = kubernetes.NewForConfig(config); err != nil {
				return err
			}
			if dryRun {
				u.dryRun = []string{metav1.DryRunAll}
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
	f.BoolVar(&dryRun, "dry-run", false, "ask the API server whether it would succeed, without changes")
	connect.Register(f)
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
	namespace string
	all       bool
	dryRun    []string
}

func (u *uninstall) run(ctx context.Context) error {
	holder, err := u.takeLease(ctx)
	if err != nil {
		return err
	}
	registrations := u.clients.AdmissionregistrationV1()
	if err := u.remove(ctx, "MutatingWebhookConfiguration", registration.ConfigurationName, registrations.MutatingWebhookConfigurations().Delete); err != nil {
		return err
	}
	if err := u.remove(ctx, "ValidatingWebhookConfiguration", registration.ConfigurationName, registrations.ValidatingWebhookConfigurations().Delete); err != nil {
		return err
	}
	if holder != "" && u.dryRun == nil {
		if err := u.removeAgain(ctx); err != nil {
			return err
		}
	}
	if u.all && holder == "" {
		if err := u.removeKept(ctx); err != nil {
			return err
		}
	}
	if err := u.left(ctx); err != nil {
		return err
	}
	if holder != "" {
		fmt.Fprintf(u.err, "%s runs, and will register again in %s: delete usher's Deployment first\n", holder, uninstallerTime)
		if u.all {
			return fmt.Errorf("the Lease, the Secret and the ConfigMap stay while usher runs: delete its Deployment, then run this command again")
		}
	}
	return nil
}

// removeKept removes the objects that replicas store in usher's namespace.
func (u *uninstall) removeKept(ctx context.Context) error {
	for _, kept := range []struct {
		kind, name string
		deletion   deletion
	}{
		{"Secret", caSecret, u.clients.CoreV1().Secrets(u.namespace).Delete},
		{"ConfigMap", config.LastValidName, u.clients.CoreV1().ConfigMaps(u.namespace).Delete},
		{"Lease", registration.LeaseName, u.clients.CoordinationV1().Leases(u.namespace).Delete},
	} {
		if err := u.remove(ctx, kept.kind, u.namespace+"/"+kept.name, named(kept.deletion, kept.name)); err != nil {
			return err
		}
	}
	return nil
}

// removeAgain removes what a replica wrote that had checked the Lease just
// before it was taken.
func (u *uninstall) removeAgain(ctx context.Context) error {
	registrations := u.clients.AdmissionregistrationV1()
	err := wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, time.Second, true, func(context.Context) (bool, error) {
		for _, remove := range []deletion{registrations.MutatingWebhookConfigurations().Delete, registrations.ValidatingWebhookConfigurations().Delete} {
			if err := remove(ctx, registration.ConfigurationName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
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
	if holder = heldBy(lease, time.Now()); holder == "" {
		return "", nil
	}
	// A patch does not conflict with the holder's renewals.
	now := metav1.NowMicro().UTC().Format(metav1.RFC3339Micro)
	patch := fmt.Sprintf(`{"spec":{"holderIdentity":%q,"leaseDurationSeconds":%d,"acquireTime":%q,"renewTime":%q}}`,
		uninstaller, int(uninstallerTime.Seconds()), now, now)
	if _, err := leases.Patch(ctx, registration.LeaseName, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: u.dryRun}); err != nil {
		return "", fmt.Errorf("taking the Lease: %w", err)
	}
	return holder, nil
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

type deletion func(ctx context.Context, name string, o metav1.DeleteOptions) error

// named deletes the object with a name.
func named(remove deletion, name string) deletion {
	return func(ctx context.Context, _ string, o metav1.DeleteOptions) error { return remove(ctx, name, o) }
}

func (u *uninstall) remove(ctx context.Context, kind, name string, remove deletion) error {
	err := remove(ctx, name, metav1.DeleteOptions{DryRun: u.dryRun})
	switch {
	case apierrors.IsNotFound(err):
		fmt.Fprintf(u.out, "%s %s: not found\n", kind, name)
	case err != nil:
		return fmt.Errorf("removing the %s %s: %w", kind, name, err)
	case u.dryRun != nil:
		fmt.Fprintf(u.out, "%s %s: would be removed\n", kind, name)
	default:
		fmt.Fprintf(u.out, "%s %s: removed\n", kind, name)
	}
	return nil
}

// left lists the remaining objects of usher, and how to remove them.
func (u *uninstall) left(ctx context.Context) error {
	labelled := metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=usher"}
	deployments, err := u.clients.AppsV1().Deployments(u.namespace).List(ctx, labelled)
	if err != nil {
		return fmt.Errorf("looking for remaining objects: %w", err)
	}
	configMaps, err := u.clients.CoreV1().ConfigMaps(u.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("looking for remaining objects: %w", err)
	}
	for i := range deployments.Items {
		u.stays("Deployment", deployments.Items[i].Name)
	}
	for i := range configMaps.Items {
		cm := &configMaps.Items[i]
		kept := cm.Name == config.LastValidName && (!u.all || u.dryRun == nil)
		if cm.Name == config.ConfigMapName || kept || injector.TemplateName(cm.Name, cm.Labels) != "" {
			u.stays("ConfigMap", cm.Name)
		}
	}
	if _, err := u.clients.CoreV1().Secrets(u.namespace).Get(ctx, caSecret, metav1.GetOptions{}); err == nil && (!u.all || u.dryRun == nil) {
		u.stays("Secret", caSecret)
	}
	if _, err := u.clients.CoordinationV1().Leases(u.namespace).Get(ctx, registration.LeaseName, metav1.GetOptions{}); err == nil && (!u.all || u.dryRun == nil) {
		u.stays("Lease", registration.LeaseName)
	}
	return nil
}

func (u *uninstall) stays(kind, name string) {
	fmt.Fprintf(u.out, "%s %s/%s: stays\n", kind, u.namespace, name)
}
