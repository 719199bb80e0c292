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
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const webhookAccount = "usher-webhook"

// WebhookUser is whom the API server takes usher's webhook for.
const WebhookUser = "system:serviceaccount:" + Namespace + ":" + webhookAccount

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

// asWebhook connects as the webhook's ServiceAccount, by a token of it, once
// the API server knows its rights.
func (c *ControlPlane) asWebhook(ctx context.Context) (*rest.Config, error) {
	config, err := c.webhookConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("becoming the ServiceAccount %s: %w", webhookAccount, err)
	}
	return config, nil
}

// WebhookKubeconfig writes a kubeconfig of the webhook's ServiceAccount, which
// must be there with its rights, to a file. Server is how it reaches the API
// server.
func (c *ControlPlane) WebhookKubeconfig(ctx context.Context, file, server string) error {
	config, err := c.asWebhook(ctx)
	if err != nil {
		return err
	}
	content := clientcmdapi.NewConfig()
	content.Clusters["test"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: config.CAData}
	content.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	content.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	content.CurrentContext = "test"
	return clientcmd.WriteToFile(*content, file)
}

func (c *ControlPlane) webhookConfig(ctx context.Context) (*rest.Config, error) {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	token, err := clients.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, webhookAccount, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	// One right of each binding: the API server learns of them one by one.
	for _, right := range []authorizationv1.ResourceAttributes{
		{Verb: "watch", Resource: "namespaces"},
		{Verb: "watch", Resource: "configmaps", Namespace: Namespace},
		{Verb: "create", Resource: "pods", Namespace: "usher-proof"},
	} {
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			review, err := clients.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: WebhookUser, ResourceAttributes: &right},
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
