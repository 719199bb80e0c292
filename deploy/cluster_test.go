// Package deploy_test installs usher like its users, on a real API server.
package deploy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
	"github.com/usher-dev/usher/test/rights"
)

// cluster is a real API server to which both manifests were applied, with usher
// next to it as its ServiceAccount.
type cluster struct {
	*kubernetes.Clientset
	plane    *controlplane.ControlPlane
	auditLog rights.Log
}

var shared struct {
	once    sync.Once
	cluster *cluster
	err     error
	stops   []func() error
}

func TestMain(m *testing.M) {
	status := m.Run()
	for _, stop := range slices.Backward(shared.stops) {
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(status)
}

func started(t *testing.T) *cluster {
	t.Helper()
	shared.once.Do(func() { shared.cluster, shared.err = start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

func start() (*cluster, error) {
	folder, err := os.MkdirTemp("", "usher-deploy-")
	if err != nil {
		return nil, err
	}
	shared.stops = append(shared.stops, func() error { return os.RemoveAll(folder) })
	log, flags, err := rights.NewLog(folder, controlplane.WebhookUser, controlplane.ControllerUser, neutronUser)
	if err != nil {
		return nil, err
	}
	c := &cluster{auditLog: log}
	if c.plane, err = controlplane.StartWithFlags(os.Stderr, flags, "../controllers/network/multus/testdata"); err != nil {
		return nil, err
	}
	shared.stops = append(shared.stops, c.plane.Stop)
	config := rest.CopyConfig(c.plane.Config)
	config.QPS, config.Burst = 200, 200
	if c.Clientset, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	ctx := context.Background()
	if out, err := c.plane.Kubectl(ctx, "", "apply", "-f", definitions, "-f", manifest); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	server, err := usherwebhook.StartReplica(ctx, c.plane, logr.Discard())
	if err != nil {
		return nil, err
	}
	shared.stops = append(shared.stops, server.Stop)
	return c, nil
}

// audited returns what a user did so far.
func (c *cluster) audited(t *testing.T, user string) []rights.Event {
	t.Helper()
	events, err := c.auditLog.Of(user)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// may reports whether the webhook's ServiceAccount has a right.
func (c *cluster) may(t *testing.T, verb, group, resource, namespace, name string) bool {
	t.Helper()
	return c.allowed(t, controlplane.WebhookUser, authorizationv1.ResourceAttributes{Verb: verb, Group: group, Version: "*", Resource: resource, Namespace: namespace, Name: name})
}

// allowed reports whether a ServiceAccount or another user has a right.
func (c *cluster) allowed(t *testing.T, user string, right authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review, err := c.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: []string{"system:serviceaccounts", "system:authenticated"}, ResourceAttributes: &right},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// newNamespace creates a namespace with the ServiceAccount that pods need.
func (c *cluster) newNamespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	ns, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.apply(t, ns.Name, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}")
	return ns.Name
}

// apply is kubectl apply; it returns kubectl's output, including warnings.
func (c *cluster) apply(t *testing.T, namespace, manifest string) string {
	t.Helper()
	// kubectl parses what begins with a brace as JSON.
	out, err := c.plane.Kubectl(t.Context(), "---\n"+manifest, "apply", "-n", namespace, "-f", "-")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

func (c *cluster) until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// review posts to usher like the API server, according to the registration.
func (c *cluster) review(t *testing.T, path, body string) (status int, answer string) {
	t.Helper()
	registered, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	to := registered.Webhooks[0].ClientConfig
	address, err := url.Parse(*to.URL)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(to.CABundle)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
	res, err := client.Post("https://"+address.Host+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}
