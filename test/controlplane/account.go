package controlplane

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
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

// The users of usher's processes.
const (
	WebhookUser    = userPrefix + "usher-webhook"
	ControllerUser = userPrefix + "usher-controller"

	// proofNamespace is that of an installation in Namespace.
	proofNamespace = "usher-proof"

	userPrefix = "system:serviceaccount:" + Namespace + ":"
)

// An account is a ServiceAccount of usher's with the rights that it has in a
// cluster.
type account struct {
	namespace, name string
	// manifests define it, below deploy.
	manifests []string
	// proofs are one right of each binding, because the API server learns about
	// bindings one by one.
	proofs []authorizationv1.ResourceAttributes
}

// webhookAccount also has the rights of the absence warnings.
func webhookAccount() account {
	return webhookAccountIn(Namespace, proofNamespace)
}

// webhookAccountIn is the one of an installation in another namespace.
func webhookAccountIn(namespace, proof string) account {
	return account{
		namespace: namespace,
		name:      "usher-webhook",
		manifests: []string{"base/webhook/account.yaml", "base/webhook/rights.yaml", "overlays/absence-warnings/rights.yaml"},
		proofs: []authorizationv1.ResourceAttributes{
			{Verb: "watch", Resource: "namespaces"},
			{Verb: "watch", Resource: "configmaps", Namespace: namespace},
			{Verb: "create", Resource: "pods", Namespace: proof},
		},
	}
}

// controllerProofs are one right of each binding of a controller, by its name.
var controllerProofs = map[string][]authorizationv1.ResourceAttributes{
	"etcdbackup":     {{Verb: "watch", Group: "etcd.database.coreos.com", Resource: "etcdbackups"}},
	"etcdcluster":    {{Verb: "watch", Group: "etcd.database.coreos.com", Resource: "etcdclusters"}},
	"etcdrestore":    {{Verb: "watch", Group: "etcd.database.coreos.com", Resource: "etcdrestores"}},
	"healing":        {{Verb: "patch", Group: "apps", Resource: "daemonsets"}, {Verb: "list", Resource: "configmaps", Namespace: Namespace}},
	"network":        {{Verb: "watch", Group: "samplecrd.k8s.io", Resource: "networks"}},
	"ownnetwork":     {{Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "status"}, {Verb: "delete", Group: "coordination.k8s.io", Resource: "leases", Namespace: Namespace}},
	"refusals":       {{Verb: "watch", Group: "events.k8s.io", Resource: "events"}},
	"serviceaccount": {{Verb: "watch", Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}},
}

// controllerAccount has the rights of the named controllers, each of which is in
// a file of its name, and the rights that all have. Without names it has the
// rights of every controller.
func controllerAccount(controllers ...string) account {
	if len(controllers) == 0 {
		controllers = slices.Sorted(maps.Keys(controllerProofs))
	}
	a := account{
		namespace: Namespace,
		name:      "usher-controller",
		manifests: []string{"base/controller/account.yaml", "base/controller/rights.yaml"},
		proofs: []authorizationv1.ResourceAttributes{
			{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: Namespace},
			{Verb: "list", Resource: "namespaces"},
		},
	}
	for _, name := range controllers {
		a.manifests = append(a.manifests, "base/controller/"+name+".yaml")
		a.proofs = append(a.proofs, controllerProofs[name]...)
	}
	return a
}

// AsController connects as the controller's ServiceAccount, which must exist with
// the rights of the named controllers, or of all.
func (c *ControlPlane) AsController(ctx context.Context, controllers ...string) (*rest.Config, error) {
	return c.as(ctx, controllerAccount(controllers...))
}

// GrantController creates the controller's ServiceAccount with the rights of the
// named controllers, or of all.
func (c *ControlPlane) GrantController(ctx context.Context, controllers ...string) error {
	return c.grant(ctx, controllerAccount(controllers...))
}

// AsWebhook connects as the webhook's ServiceAccount of an installation, which
// must exist with its rights, and with the version that tests pretend. proof is
// the namespace of its dry-runs, usher-proof if it is empty.
func (c *ControlPlane) AsWebhook(ctx context.Context, namespace, proof string) (*rest.Config, error) {
	config, err := c.as(ctx, webhookAccountIn(namespace, cmp.Or(proof, proofNamespace)))
	if err == nil && c.Version != "" {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return reported{c.Version, next} })
	}
	return config, err
}

// GrantWebhook creates the webhook's ServiceAccount with its rights.
func (c *ControlPlane) GrantWebhook(ctx context.Context) error { return c.grant(ctx, webhookAccount()) }

// grant creates the account and its rights.
func (c *ControlPlane) grant(ctx context.Context, a account) error {
	args := []string{"apply"}
	for _, manifest := range a.manifests {
		args = append(args, "-f", filepath.Join(Root(), "deploy", manifest))
	}
	if out, err := c.Kubectl(ctx, "", args...); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// as connects as the account, with a token, once the API server knows its
// rights.
func (c *ControlPlane) as(ctx context.Context, a account) (*rest.Config, error) {
	config, err := c.become(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("becoming the ServiceAccount %s: %w", a.name, err)
	}
	return config, nil
}

// WebhookKubeconfig writes a kubeconfig of the webhook's ServiceAccount, which
// must exist with its rights, to a file. Server is the URL of the API server.
func (c *ControlPlane) WebhookKubeconfig(ctx context.Context, file, server string) error {
	config, err := c.as(ctx, webhookAccount())
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

// impersonating is the content of a kubeconfig that impersonates a user in a
// group.
func (c *ControlPlane) impersonating(user, group string) ([]byte, error) {
	content, err := clientcmd.Load(c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	for _, a := range content.AuthInfos {
		a.Impersonate, a.ImpersonateGroups = user, []string{group}
	}
	return clientcmd.Write(*content)
}

func (c *ControlPlane) become(ctx context.Context, a account) (*rest.Config, error) {
	clients, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	token, err := clients.CoreV1().ServiceAccounts(a.namespace).CreateToken(ctx, a.name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	for _, right := range a.proofs {
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			review, err := clients.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: "system:serviceaccount:" + a.namespace + ":" + a.name, ResourceAttributes: &right},
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
