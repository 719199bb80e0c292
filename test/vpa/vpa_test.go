// Package vpa runs the Vertical Pod Autoscaler's own admission controller
// together with usher: it sets the requests of every container in its pods,
// including sidecars. It is a module of its own, so that its dependencies stay
// out of usher's.
package vpa

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/usher-dev/usher/test/controlplane"
	"github.com/usher-dev/usher/test/controlplane/usherwebhook"
)

const (
	module    = "k8s.io/autoscaler/vertical-pod-autoscaler"
	namespace = "shop"
	template  = `containers: [{name: envoy, image: 'envoy:1', args: [--run], resources: {requests: {cpu: 10m, memory: 16Mi}}}]`
)

// pods are the expected pods of the Deployments of three templates, when the
// autoscaler recommends 250m for app and sidecar alike.
var pods = []struct {
	template, options string
	// denied is why the ReplicaSet creates no pod, or "".
	denied string
}{
	{"soft", "", ""},
	{"tolerant", "{mandatory: true, tolerate: [resources]}", ""},
	{"strict", "mandatory: true", "mandatory-changed"},
}

func TestTheAutoscalerSetsTheRequestsOfSidecars(t *testing.T) {
	log.SetLogger(logr.Discard())
	folder := moduleFolder(t)
	plane, err := controlplane.Start(os.Stderr, "../../deploy/base/crds", filepath.Join(folder, "deploy", "vpa-v1-crd-gen.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plane.Stop() })
	server, err := usherwebhook.Start(t.Context(), plane, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	c := kubernetes.NewForConfigOrDie(plane.Config)
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := plane.Account(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	autoscaler(t, plane)
	stop, output, err := plane.StartControllerManager("deployment-controller,replicaset-controller")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Log(output)
		}
	})
	for _, p := range pods {
		data := map[string]string{"config": strings.ReplaceAll(template, "envoy", p.template)}
		if p.options != "" {
			data["options"] = p.options
		}
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: p.template + "-initializer"}, Data: data}
		if _, err := c.CoreV1().ConfigMaps(controlplane.Namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		recommend(t, plane, p.template)
	}
	until(t, "the mandatory templates are registered", func() bool {
		registered, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "usher", metav1.GetOptions{})
		text, _ := json.Marshal(registered)
		return err == nil && strings.Contains(string(text), `inject.usher.dev/strict`) && strings.Contains(string(text), `inject.usher.dev/tolerant`)
	})
	// The autoscaler reads its objects from a cache: it is ready when it sets the
	// requests of a pod's own container.
	for _, p := range pods {
		deploy(t, c, p.template+"-plain", p.template, "false")
		until(t, "the autoscaler sets requests of "+p.template, func() bool {
			for _, pod := range podsOf(t, c, p.template+"-plain") {
				if cpu(&pod, "app") == "250m" {
					return true
				}
				_ = c.CoreV1().Pods(namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
			}
			return false
		})
	}
	for _, p := range pods {
		t.Run(p.template, func(t *testing.T) {
			deploy(t, c, p.template, p.template, "true")
			if p.denied != "" {
				until(t, "the ReplicaSet says why it makes no pod", func() bool {
					sets, err := c.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + p.template})
					if err != nil || len(sets.Items) != 1 {
						return false
					}
					for _, condition := range sets.Items[0].Status.Conditions {
						if condition.Type == appsv1.ReplicaSetReplicaFailure && strings.Contains(condition.Message, p.denied) {
							t.Log(condition.Message)
							return true
						}
					}
					return false
				})
				return
			}
			var got []corev1.Pod
			until(t, "there is a pod", func() bool { got = podsOf(t, c, p.template); return len(got) == 1 })
			if cpu(&got[0], "app") != "250m" || cpu(&got[0], p.template) != "250m" || len(got[0].Spec.Containers) != 2 {
				t.Errorf("containers %+v", got[0].Spec.Containers)
			}
			// When it is restored, the pod passes both again.
			restored := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "restored-", Annotations: got[0].Annotations, Labels: got[0].Labels}, Spec: got[0].Spec}
			if again, err := c.CoreV1().Pods(namespace).Create(t.Context(), restored, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil || len(again.Spec.Containers) != 2 {
				t.Errorf("restored: %v, %v", again, err)
			}
		})
	}
}

// moduleFolder is the folder of the autoscaler's module.
func moduleFolder(t *testing.T) string {
	t.Helper()
	// go list does not know the folder of a module that nothing has downloaded yet.
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module).Output()
	var downloaded struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &downloaded)
	}
	if err != nil {
		t.Fatalf("downloading %s: %v\n%s", module, err, out)
	}
	return downloaded.Dir
}

// autoscaler runs the admission controller, which registers itself.
func autoscaler(t *testing.T, plane *controlplane.ControlPlane) {
	t.Helper()
	folder := t.TempDir()
	program := filepath.Join(folder, "admission-controller")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, module+"/pkg/admission-controller").CombinedOutput(); err != nil {
		t.Fatalf("building the admission controller: %v\n%s", err, out)
	}
	kubeconfig, remove, err := plane.KubeconfigFile()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	certificates(t, folder)
	address, metrics := free(t), free(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	output, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--kubeconfig="+kubeconfig, "--client-ca-file="+filepath.Join(folder, "ca.crt"), "--tls-cert-file="+filepath.Join(folder, "tls.crt"),
		"--tls-private-key="+filepath.Join(folder, "tls.key"), "--port="+port, "--address="+metrics, "--register-by-url", "--webhook-address=https://127.0.0.1", "--webhook-port="+port,
		"--webhook-failure-policy-fail", "--webhook-timeout-seconds=10")
	cmd.Env = append(os.Environ(), "NAMESPACE="+controlplane.Namespace)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text, err := os.ReadFile(output.Name()); err == nil && t.Failed() {
			t.Logf("the admission controller:\n%s", text)
		}
	})
	c := kubernetes.NewForConfigOrDie(plane.Config)
	until(t, "the admission controller has registered itself", func() bool {
		_, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "vpa-webhook-config", metav1.GetOptions{})
		return err == nil
	})
}

// certificates writes a CA and a certificate for 127.0.0.1.
func certificates(t *testing.T, folder string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "vpa"}, NotAfter: time.Now().Add(time.Hour), NotBefore: time.Now().Add(-time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"ca.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "EC PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func free(t *testing.T) string {
	t.Helper()
	address, err := controlplane.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// recommend creates the autoscaler's objects for the Deployments of a template,
// with a recommendation in the recommender's format.
func recommend(t *testing.T, plane *controlplane.ControlPlane, template string) {
	t.Helper()
	resource := dynamic.NewForConfigOrDie(plane.Config).Resource(schema.GroupVersionResource{Group: "autoscaling.k8s.io", Version: "v1", Resource: "verticalpodautoscalers"}).Namespace(namespace)
	for _, name := range []string{template, template + "-plain"} {
		vpa := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"targetRef":    map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
				"updatePolicy": map[string]any{"updateMode": "Initial"},
			},
		}}
		if _, err := resource.Create(t.Context(), vpa, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		var recommended []string
		for _, container := range []string{"app", template} {
			amount := `{"cpu":"250m","memory":"64Mi"}`
			recommended = append(recommended, fmt.Sprintf(`{"containerName":%q,"target":%s,"lowerBound":%s,"upperBound":%s,"uncappedTarget":%s}`, container, amount, amount, amount, amount))
		}
		status := `{"status":{"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}],"recommendation":{"containerRecommendations":[` + strings.Join(recommended, ",") + `]}}}`
		if _, err := resource.Patch(t.Context(), name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); apierrors.IsNotFound(err) {
			_, err = resource.Patch(t.Context(), name, types.MergePatchType, []byte(status), metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func deploy(t *testing.T, c *kubernetes.Clientset, name, template, asks string) {
	t.Helper()
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"inject.usher.dev/" + template: asks}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
		},
	}}
	if _, err := c.AppsV1().Deployments(namespace).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func podsOf(t *testing.T, c *kubernetes.Clientset, name string) []corev1.Pod {
	t.Helper()
	list, err := c.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func cpu(pod *corev1.Pod, container string) string {
	for _, c := range pod.Spec.Containers {
		if c.Name == container {
			return c.Resources.Requests.Cpu().String()
		}
	}
	return ""
}

func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return condition(), nil }); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}
