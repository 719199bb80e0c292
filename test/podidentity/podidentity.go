// Package podidentity stands in for the parts of EKS that give pods an identity, for
// tests with an API server and test/objectstore.
package podidentity

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/usher-dev/usher/test/objectstore"
)

// Audiences of the tokens that EKS' webhook projects into pods.
const ofSTS, ofAgent = "sts.amazonaws.com", "pods.eks.amazonaws.com"

// prober is the ServiceAccount of the pod with which Start probes the webhook.
const prober = "irsa-probe"

// A cloud is a webhook that gives pods of a ServiceAccount an identity, by what its
// name begins with: irsa or agent; a token service; and the agent on the node. The last
// two know the API server's tokens, and give credentials of the object store to the
// ServiceAccounts irsa and agent. They give them without a session, which the store
// does not know.
type cloud struct {
	clients             kubernetes.Interface
	namespace           string
	sts, agent, webhook *httptest.Server
}

// Start starts a cloud for a namespace, and returns once the API server calls its
// webhook. The caller stops it.
func Start(ctx context.Context, config *rest.Config, namespace string) (stop func() error, err error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &cloud{clients: clients, namespace: namespace}
	c.sts = httptest.NewServer(http.HandlerFunc(c.assumeRole))
	c.agent = httptest.NewServer(http.HandlerFunc(c.giveCredentials))
	c.webhook = httptest.NewTLSServer(http.HandlerFunc(c.mutate))
	if err := c.register(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c.stop, nil
}

func (c *cloud) name() string { return "pod-identity-" + c.namespace }

func (c *cloud) stop() error {
	err := c.clients.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(context.Background(), c.name(), metav1.DeleteOptions{})
	c.webhook.Close()
	c.agent.Close()
	c.sts.Close()
	return err
}

// trusted reports whether the token is that of the ServiceAccount.
func (c *cloud) trusted(ctx context.Context, token, audience, account string) bool {
	review, err := c.clients.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}},
	}, metav1.CreateOptions{})
	return err == nil && review.Status.Authenticated && review.Status.User.Username == "system:serviceaccount:"+c.namespace+":"+account
}

func (c *cloud) assumeRole(w http.ResponseWriter, r *http.Request) {
	if !c.trusted(r.Context(), r.PostFormValue("WebIdentityToken"), ofSTS, "irsa") {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>Not authorized</Message></Error></ErrorResponse>`)
		return
	}
	fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>
<AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><Expiration>2050-01-02T03:04:05Z</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, objectstore.AccessKey, objectstore.SecretKey)
}

func (c *cloud) giveCredentials(w http.ResponseWriter, r *http.Request) {
	if !c.trusted(r.Context(), r.Header.Get("Authorization"), ofAgent, "agent") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	fmt.Fprintf(w, `{"AccessKeyId": %q, "SecretAccessKey": %q, "Expiration": "2050-01-02T03:04:05Z"}`, objectstore.AccessKey, objectstore.SecretKey)
}

func (c *cloud) mutate(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	var p corev1.Pod
	if json.NewDecoder(r.Body).Decode(&review) != nil || json.Unmarshal(review.Request.Object.Raw, &p) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if c.identify(&p) {
		patch, _ := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": p.Spec}})
		review.Response.Patch, review.Response.PatchType = patch, ptr.To(admissionv1.PatchTypeJSONPatch)
	}
	_ = json.NewEncoder(w).Encode(review)
}

// identify gives a pod an identity, and reports whether its ServiceAccount has one.
func (c *cloud) identify(p *corev1.Pod) bool {
	folder, audience, env := "/var/run/secrets/eks.amazonaws.com/serviceaccount", ofSTS, map[string]string(nil)
	switch {
	case strings.HasPrefix(p.Spec.ServiceAccountName, "irsa"):
		env = map[string]string{"AWS_ROLE_ARN": "arn:aws:iam::111122223333:role/backups", "AWS_WEB_IDENTITY_TOKEN_FILE": folder + "/token", "AWS_ENDPOINT_URL_STS": c.sts.URL}
	case strings.HasPrefix(p.Spec.ServiceAccountName, "agent"):
		folder, audience = "/var/run/secrets/pods.eks.amazonaws.com/serviceaccount", ofAgent
		env = map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": c.agent.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": folder + "/token"}
	default:
		return false
	}
	env["AWS_REGION"] = "us-east-1"
	container := &p.Spec.Containers[0]
	for name, value := range env {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
	}
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "aws-iam-token", MountPath: folder, ReadOnly: true})
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "aws-iam-token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: audience, ExpirationSeconds: ptr.To[int64](86400), Path: "token"}}},
	}}})
	return true
}

// register registers the webhook, and waits until the API server calls it, which it
// does a moment later.
func (c *cloud) register(ctx context.Context) error {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: c.name()},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "pod-identity.eks.example", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &c.webhook.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.webhook.Certificate().Raw}),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": c.namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	if _, err := c.clients.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, configuration, metav1.CreateOptions{}); err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: prober}}
	if _, err := c.clients.CoreV1().ServiceAccounts(c.namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	probe := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: corev1.PodSpec{ServiceAccountName: prober, SecurityContext: &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}, Containers: []corev1.Container{{Name: "app", Image: "app", SecurityContext: &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}}}}}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		is, err := c.clients.CoreV1().Pods(c.namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && len(is.Spec.Containers[0].Env) > 0, nil
	})
}
