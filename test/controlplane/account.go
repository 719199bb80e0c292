package controlplane

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	webhookAccount    = "usher-webhook"
	controllerAccount = "usher-controller"
	accountPrefix     = "system:serviceaccount:" + Namespace + ":"
)

// Whom the API server takes usher's processes for.
const (
	WebhookUser    = accountPrefix + webhookAccount
	ControllerUser = accountPrefix + controllerAccount
)

// grantRights makes the webhook's ServiceAccount with the rights that it has in
// a cluster, those of the absence warnings included.
func (c *ControlPlane) grantRights(ctx context.Context) error {
	deploy := filepath.Join(root(), "deploy")
	out, err := c.Kubectl(ctx, "", "apply",
		"-f", filepath.Join(deploy, "base", "webhook", "account.yaml"),
		"-f", filepath.Join(deploy, "base", "webhook", "rights.yaml"),
		"-f", filepath.Join(deploy, "overlays", "absence-warnings", "rights.yaml"))
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// asWebhook connects as the webhook's ServiceAccount.
func (c *ControlPlane) asWebhook(ctx context.Context) (*rest.Config, error) {
	return c.as(ctx, webhookAccount,
		authorizationv1.ResourceAttributes{Verb: "watch", Resource: "namespaces"},
		authorizationv1.ResourceAttributes{Verb: "watch", Resource: "configmaps", Namespace: Namespace},
		authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods", Namespace: "usher-proof"})
}

// AsController connects as the controller's ServiceAccount, which the manifest
// was applied for. The rights, one of each binding, are waited for.
func (c *ControlPlane) AsController(ctx context.Context, rights ...authorizationv1.ResourceAttributes) (*rest.Config, error) {
	return c.as(ctx, controllerAccount, append(rights,
		authorizationv1.ResourceAttributes{Verb: "watch", Resource: "namespaces"},
		authorizationv1.ResourceAttributes{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: Namespace})...)
}

// as connects as a ServiceAccount of usher's, by a token of it, once the API
// server knows its rights: it learns of bindings one by one.
func (c *ControlPlane) as(ctx context.Context, account string, rights ...authorizationv1.ResourceAttributes) (*rest.Config, error) {
	config, err := c.withToken(ctx, account, rights)
	if err != nil {
		return nil, fmt.Errorf("becoming the ServiceAccount %s: %w", account, err)
	}
	return config, nil
}

func (c *ControlPlane) withToken(ctx context.Context, account string, rights []authorizationv1.ResourceAttributes) (*rest.Config, error) {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	token, err := clients.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	for _, right := range rights {
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			review, err := clients.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: accountPrefix + account, ResourceAttributes: &right},
			}, metav1.CreateOptions{})
			return err == nil && review.Status.Allowed, err
		})
		if err != nil {
			return nil, err
		}
	}
	config := rest.AnonymousClientConfig(c.Config)
	config.BearerToken = token.Status.Token
	return config, nil
}
