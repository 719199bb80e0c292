package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/cmd/internal/cli"
)

// sections are the parts of an explanation, as text.
type sections struct{ now, next, do string }

// explained explains one object, and splits the explanation into sections.
func (c *testCluster) explained(t *testing.T, kubeconfig string, args ...string) sections {
	t.Helper()
	status, stdout, stderr := usher(t, "", append(append([]string{"explain"}, args...), "--kubeconfig", kubeconfig)...)
	if status != cli.Clean || stderr != "" {
		t.Fatalf("explain %v: exit status %d: %s%s", args, status, stdout, stderr)
	}
	_, rest, found := strings.Cut(stdout, "\n\nNOW\n")
	now, rest, more := strings.Cut(rest, "\n\nNEXT POD\n")
	next, do, last := strings.Cut(rest, "\n\nDO\n")
	if !found || !more || !last {
		t.Fatalf("explain %v says:\n%s", args, stdout)
	}
	version := regexp.MustCompile(`sha256:[0-9a-f]+`)
	name := regexp.MustCompile(`pod/([a-z-]+)-[0-9a-z]+-[0-9a-z]+:`)
	return sections{name.ReplaceAllString(version.ReplaceAllString(now, "VERSION"), "pod/$1-X:"), version.ReplaceAllString(next, "VERSION"), do}
}

// pod waits until an app has one pod, and returns its name.
func (c *testCluster) pod(t *testing.T, ns, app string) (name string) {
	t.Helper()
	c.until(t, "one pod of "+app+" exists", func() bool {
		list, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
		if err != nil || len(list.Items) != 1 {
			return false
		}
		name = list.Items[0].Name
		return true
	})
	return name
}

func (c *testCluster) kubectl(t *testing.T, args ...string) {
	t.Helper()
	if out, err := c.plane.Kubectl(t.Context(), "", args...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// askingDeployment returns a Deployment with annotations and labels in its pod
// template, and with others on its own metadata.
func askingDeployment(name, own, annotations, labels string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, %[2]s}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s%[4]s}, annotations: {%[3]s}}
    spec: {containers: [{name: app, image: 'app:1'}]}
`, name, own, annotations, labels)
}

// TestExplain_TellsWhatIsFromWhatWouldBe checks that NOW, NEXT POD and DO
// differ where they should.
func TestExplain_TellsWhatIsFromWhatWouldBe(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:1"))

	t.Run("a pod that was annotated after it was created", func(t *testing.T) {
		c.apply(t, ns, "{apiVersion: v1, kind: Pod, metadata: {name: late}, spec: {containers: [{name: app, image: 'app:1'}]}}")
		c.kubectl(t, "annotate", "-n", ns, "pod", "late", "inject.usher.dev/side=true")
		got := c.explained(t, c.kubeconfig, "pod", "late", "-n", ns)
		const now = "  was created without side, which annotation inject.usher.dev/side asks for"
		if got.now != now || strings.Contains(got.now, "injected") {
			t.Errorf("NOW is %q, want %q", got.now, now)
		}
		if !strings.HasPrefix(got.next, "  gets side, version VERSION: injected (annotation inject.usher.dev/side)\n") {
			t.Errorf("NEXT POD:\n%s", got.next)
		}
		if want := "  kubectl replace --force -n " + ns + " -f FILE\n"; !strings.HasPrefix(got.do, want) {
			t.Errorf("DO is %q, want %q", got.do, want)
		}
	})

	t.Run("a pod that did not ask", func(t *testing.T) {
		c.apply(t, ns, "{apiVersion: v1, kind: Pod, metadata: {name: silent}, spec: {containers: [{name: app, image: 'app:1'}]}}")
		got := c.explained(t, c.kubeconfig, "pod", "silent", "-n", ns)
		want := sections{
			now: "  has no sidecar from usher",
			next: "  gets nothing: neither an annotation of the pod nor a label of its namespace asks for a template\n" +
				"    annotations initializer.kubernetes.io/<template>, inject.usher.dev/<template>: none\n" +
				"    label inject.usher.dev/templates of namespace " + ns + ": none",
			do: "  nothing: neither the pod nor its namespace asks for a template\n",
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sections{})); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})

	t.Run("a Deployment whose annotation usher carried", func(t *testing.T) {
		c.apply(t, ns, askingDeployment("carried", `annotations: {initializer.kubernetes.io/side: "true"}`, "", ""))
		pod := c.pod(t, ns, "carried")
		for _, object := range []string{"pod/" + pod, "deployment/carried"} {
			got := c.explained(t, c.kubeconfig, object, "-n", ns)
			if !strings.Contains(got.now, "has side, version VERSION (current), containers side") || got.do != "  nothing: the pods have what new pods get\n" || strings.Contains(got.next, "found:") {
				t.Errorf("%s:\n%+v", object, got)
			}
		}
	})

	c.apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: bare, annotations: {inject.usher.dev/side: "true"}}, spec: {containers: [{name: app, image: 'app:1'}]}}`)
	t.Run("a pod whose template changed since", func(t *testing.T) {
		c.apply(t, "usher-system", templateManifest("side:2"))
		pod := c.pod(t, ns, "carried")
		got := c.explained(t, c.kubeconfig, "pod", pod, "-n", ns)
		if want := "  has side, version VERSION (outdated: new pods get VERSION), containers side"; got.now != want {
			t.Errorf("NOW is %q, want %q", got.now, want)
		}
		if strings.Contains(got.next, "denied") || !strings.HasPrefix(got.next, "  gets side, version VERSION: injected") {
			t.Errorf("NEXT POD:\n%s", got.next)
		}
		if want := "  kubectl rollout restart deployment/carried -n " + ns + "\n    replaces its pods with new ones\n"; got.do != want {
			t.Errorf("DO is %q, want %q", got.do, want)
		}
	})

	t.Run("a pod without an owner whose template changed since", func(t *testing.T) {
		got := c.explained(t, c.kubeconfig, "pod", "bare", "-n", ns)
		if !strings.Contains(got.now, "(outdated: new pods get VERSION)") || !strings.HasPrefix(got.next, "  gets side, version VERSION: injected") || !strings.HasPrefix(got.do, "  kubectl replace --force") {
			t.Errorf("%+v", got)
		}
	})

	t.Run("a Deployment whose pods are denied", func(t *testing.T) {
		c.apply(t, ns, askingDeployment("denied", "", `inject.usher.dev/nowhere: "true"`, ""))
		for _, args := range [][]string{{"deployment/denied"}, {"deploy", "denied"}, {"pod", "deployments.apps/denied"}, {"-l", "app=denied"}} {
			got := c.explained(t, c.kubeconfig, append(args, "-n", ns)...)
			if got.now != "  no pod exists" || !strings.HasPrefix(got.next, "  is denied\n    template-missing: ") || !strings.Contains(got.do, "correct the annotation, or ask your administrator to create the template; the controller retries by itself") {
				t.Errorf("%v:\n%+v", args, got)
			}
		}
	})

	t.Run("a Deployment that asks for what is not a boolean", func(t *testing.T) {
		c.apply(t, ns, askingDeployment("maybe", "", `inject.usher.dev/side: "maybe"`, ""))
		got := c.explained(t, c.kubeconfig, "deployment/maybe", "-n", ns)
		if !strings.HasPrefix(got.next, "  is denied\n    bad-value: metadata.annotations[inject.usher.dev/side]: is \"maybe\"") || !strings.HasPrefix(got.do, "  kubectl edit deployment/maybe -n "+ns+"\n") {
			t.Errorf("%+v", got)
		}
	})
}

// TestExplain_NamesKeysThatUsherDoesNotRead finds such keys, and runs the
// suggested command so that the next pod gets the template.
func TestExplain_NamesKeysThatUsherDoesNotRead(t *testing.T) {
	c := startedCluster(t)
	c.apply(t, "usher-system", templateManifest("side:1"))
	for name, tt := range map[string]struct{ own, annotations, labels, found string }{
		"misspelt prefix": {annotations: `initialiser.kubernetes.io/side: "true"`,
			found: "annotation initialiser.kubernetes.io/side of its pod template is not a key that usher reads: write initializer.kubernetes.io/side"},
		"misspelt template": {annotations: `inject.usher.dev/sdie: "true"`,
			found: "annotation inject.usher.dev/sdie of its pod template names a template that does not exist: write inject.usher.dev/side"},
		"label of the pod template": {labels: `, inject.usher.dev/side: "true"`,
			found: "label inject.usher.dev/side of its pod template: usher reads annotations of pods, not labels: write the annotation inject.usher.dev/side"},
		"label of the Deployment": {own: `labels: {initializer.kubernetes.io/side: "true"}`,
			found: "label initializer.kubernetes.io/side is on the metadata of deployment/shop itself, where its pods do not get it: write the annotation initializer.kubernetes.io/side into its pod template"},
		"misspelt prefix on the Deployment": {own: `annotations: {injector.usher.dev/side: "true"}`,
			found: "annotation injector.usher.dev/side is on the metadata of deployment/shop itself, where its pods do not get it: write the annotation inject.usher.dev/side into its pod template"},
	} {
		t.Run(name, func(t *testing.T) {
			ns := c.namespace(t)
			c.apply(t, ns, askingDeployment("shop", tt.own, tt.annotations, tt.labels))
			got := c.explained(t, c.kubeconfig, "deployment/shop", "-n", ns)
			if !strings.Contains(got.next, "  found: "+tt.found) {
				t.Errorf("%q is not in:\n%s", tt.found, got.next)
			}
			c.obey(t, got.do)
			got = c.explained(t, c.kubeconfig, "deployment/shop", "-n", ns)
			if !strings.HasPrefix(got.next, "  gets side, version VERSION: injected") || strings.Contains(got.next, "found:") {
				t.Errorf("after the command:\n%+v", got)
			}
		})
	}
	t.Run("annotation of the namespace", func(t *testing.T) {
		ns := c.namespace(t)
		c.kubectl(t, "annotate", "namespace", ns, "inject.usher.dev/templates=side")
		c.apply(t, ns, askingDeployment("shop", "", "", ""))
		got := c.explained(t, c.kubeconfig, "deployment/shop", "-n", ns)
		if !strings.Contains(got.next, "annotation inject.usher.dev/templates of namespace "+ns+" is not a key that usher reads") {
			t.Errorf("%+v", got)
		}
		c.obey(t, got.do)
		if got = c.explained(t, c.kubeconfig, "deployment/shop", "-n", ns); !strings.HasPrefix(got.next, "  gets side, version VERSION: injected (namespace label") {
			t.Errorf("after the command:\n%+v", got)
		}
	})
}

// obey runs the command of DO, which only uses single quotes.
func (c *testCluster) obey(t *testing.T, do string) {
	t.Helper()
	line, _, _ := strings.Cut(strings.TrimSpace(do), "\n")
	command, found := strings.CutPrefix(line, "kubectl ")
	if !found {
		t.Fatalf("DO has no command: %q", do)
	}
	before, patch, quoted := strings.Cut(command, "'")
	args := strings.Fields(before)
	if quoted {
		args = append(args, strings.TrimSuffix(patch, "'"))
	}
	c.kubectl(t, args...)
}

// TestExplain_UnregisteredSaysThatNobodyAsksUsher uses a cluster whose API
// server does not call usher, so that keys on a Deployment are not copied.
func TestExplain_UnregisteredSaysThatNobodyAsksUsher(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:1"))
	c.unregister(t)
	c.until(t, "nobody carries the annotation", func() bool {
		c.apply(t, ns, askingDeployment("misplaced", `annotations: {initializer.kubernetes.io/side: "true"}`, "", ""))
		d, err := c.AppsV1().Deployments(ns).Get(t.Context(), "misplaced", metav1.GetOptions{})
		if err != nil || len(d.Spec.Template.Annotations) > 0 {
			_ = c.AppsV1().Deployments(ns).Delete(context.Background(), "misplaced", metav1.DeleteOptions{})
			return false
		}
		return true
	})
	pod := c.pod(t, ns, "misplaced")
	got := c.explained(t, c.kubeconfig, "pod", pod, "-n", ns)
	if !strings.HasPrefix(got.next, "  gets nothing: usher is not registered in this cluster") || !strings.Contains(got.do, "kubectl get deployment/usher-webhook -n usher-system") {
		t.Errorf("%+v", got)
	}
	const found = `  found: annotation initializer.kubernetes.io/side is on the metadata of deployment/misplaced itself, where its pods do not get it`
	if !strings.Contains(got.next, found) {
		t.Errorf("%q is not in:\n%s", found, got.next)
	}
}

// unregister removes usher's registration until the test ends.
func (c *testCluster) unregister(t *testing.T) {
	t.Helper()
	giveBack, err := c.plane.TakeLease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	configurations := c.AdmissionregistrationV1().MutatingWebhookConfigurations()
	config, err := configurations.Get(t.Context(), wellknown.DefaultConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := configurations.Delete(t.Context(), config.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := giveBack(); err != nil {
			t.Error(err)
		}
		config.ResourceVersion = ""
		if _, err := configurations.Create(context.Background(), config, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Error(err)
		}
	})
}

// tenant creates a ServiceAccount that may edit one namespace, and returns its
// kubeconfig.
func (c *testCluster) tenant(t *testing.T, ns, role string) string {
	t.Helper()
	c.kubectl(t, "create", "serviceaccount", "-n", ns, role)
	c.kubectl(t, "create", "rolebinding", "-n", ns, role, "--clusterrole="+role, "--serviceaccount="+ns+":"+role)
	user := "system:serviceaccount:" + ns + ":" + role
	c.until(t, user+" may read pods", func() bool {
		review, err := c.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: ns, Verb: "list", Resource: "pods"},
		}}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed
	})
	token, err := c.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), role, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	content := clientcmdapi.NewConfig()
	content.Clusters["test"] = &clientcmdapi.Cluster{Server: c.plane.Config.Host, CertificateAuthorityData: c.plane.Config.CAData}
	content.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	content.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test", Namespace: ns}
	content.CurrentContext = "test"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*content, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestExplain_RightsInOneNamespaceSuffice explains with the rights of a user
// who may edit one namespace, and may not read templates.
func TestExplain_RightsInOneNamespaceSuffice(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:1"))
	tenant := c.tenant(t, ns, "edit")
	c.apply(t, ns, askingDeployment("shop", "", `inject.usher.dev/side: "true"`, ""))
	c.apply(t, ns, askingDeployment("denied", "", `inject.usher.dev/nowhere: "true"`, ""))
	c.apply(t, ns, askingDeployment("silent", "", "", `, inject.usher.dev/side: "true"`))
	c.apply(t, ns, askingDeployment("host", "", `inject.usher.dev/side: "true"`, ""))
	c.kubectl(t, "patch", "-n", ns, "deployment", "host", "-p", `{"spec":{"template":{"spec":{"hostNetwork":true}}}}`)
	c.pod(t, ns, "shop")
	const dry = "\n    result of a dry run: the API server stored nothing"

	t.Run("what a pod has and its next one gets", func(t *testing.T) {
		got := c.explained(t, tenant, "deployment/shop")
		want := sections{
			now:  "  pod/shop-X: has side, version VERSION, containers side",
			next: "  gets side, version VERSION: injected (annotation inject.usher.dev/side)" + dry,
			do:   "  nothing: the pods have what new pods get\n",
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sections{})); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("pods that are denied", func(t *testing.T) {
		got := c.explained(t, tenant, "deployment/denied")
		if got.now != "  no pod exists" || !strings.HasPrefix(got.next, "  is denied\n    template-missing: ") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a label in the place of an annotation", func(t *testing.T) {
		if got := c.explained(t, tenant, "deployment/silent"); !strings.Contains(got.next, "  found: label inject.usher.dev/side") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a template that the pod is not for", func(t *testing.T) {
		got := c.explained(t, tenant, "deployment/host")
		if !strings.Contains(got.next, "does not get side") || !strings.Contains(got.next, "host-network") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a template that changed since", func(t *testing.T) {
		c.apply(t, "usher-system", templateManifest("side:2"))
		c.until(t, "new pods get it", func() bool {
			return strings.HasPrefix(c.explained(t, tenant, "deployment/shop").do, "  kubectl rollout restart deployment/shop -n "+ns+"\n")
		})
	})
	t.Run("rules that deny pods of people and not of controllers", func(t *testing.T) {
		c.kubectl(t, "label", "namespace", ns, "policy.usher.dev/enforce=strict")
		c.until(t, "usher knows the label", func() bool {
			return strings.HasPrefix(c.explained(t, tenant, "deployment/shop").next, "  unknown: usher's rules deny such a pod if you create it yourself")
		})
		c.kubectl(t, "label", "namespace", ns, "policy.usher.dev/enforce-")
		c.until(t, "usher knows that the label is gone", func() bool {
			return strings.HasPrefix(c.explained(t, tenant, "deployment/shop").next, "  gets side")
		})
	})
	t.Run("as JSON", func(t *testing.T) {
		status, stdout, stderr := usher(t, "", "explain", "-l", "app=shop", "-o", "json", "--kubeconfig", tenant)
		var got struct {
			Explanations []struct {
				Object string
				Now    []struct {
					Sidecars []struct{ Template, State string }
				}
				Next struct{ By, Reason string }
				Do   struct{ Command string }
			}
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != cli.Clean {
			t.Fatalf("exit status %d: %v\n%s%s", status, err, stdout, stderr)
		}
		if len(got.Explanations) != 1 || got.Explanations[0].Object != "deployment/shop" || got.Explanations[0].Next.By != "dry-run" || got.Explanations[0].Now[0].Sidecars[0].State != "present" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("nothing was stored", func(t *testing.T) {
		list, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "app=denied"})
		if err != nil || len(list.Items) > 0 {
			t.Errorf("%d pods, %v", len(list.Items), err)
		}
	})
	t.Run("an API server that does not call usher", func(t *testing.T) {
		c.unregister(t)
		got := c.explained(t, tenant, "deployment/shop")
		const next = "  does not get side: left out (annotation inject.usher.dev/side)\n    usher did not answer: it does not run, or is not registered" + dry
		if got.next != next || !strings.HasPrefix(got.do, "  ask an administrator whether usher runs in namespace usher-system") {
			t.Errorf("%+v, want\n%s", got, next)
		}
	})
	t.Run("without the right to create pods it cannot be told", func(t *testing.T) {
		got := c.explained(t, c.tenant(t, ns, "view"), "deployment/shop")
		if !strings.HasPrefix(got.next, "  unknown: you may neither read the templates in namespace usher-system nor create pods in namespace "+ns) || !strings.Contains(got.now, "has side") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("templates stay unread", func(t *testing.T) {
		_, err := c.CoreV1().ConfigMaps("usher-system").Get(t.Context(), "side-initializer", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		status, _, stderr := usher(t, "", "drift", "--kubeconfig", tenant)
		if status != cli.Usage || !strings.Contains(stderr, "you may not read the templates in namespace usher-system") {
			t.Errorf("drift: exit status %d: %s", status, stderr)
		}
	})
}

func TestExplain_BadUsage(t *testing.T) {
	c := startedCluster(t)
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"unknown kind":            {[]string{"service/x"}, `"service" is not a kind of pod or owner; write pod, deployment,`},
		"no kind":                 {[]string{"shop"}, `"shop" has no kind; write pod/shop or deployment/shop`},
		"two ways":                {[]string{"pod", "x", "-l", "app=x"}, "name the objects, select them with -l, or pass files with -f"},
		"nothing":                 {[]string{"pod"}, "name the objects, select them with -l, or pass files with -f"},
		"unknown format":          {[]string{"pod", "x", "-o", "table"}, `--output is "table"; write text, json or yaml`},
		"a pod that is not there": {[]string{"pod", "x", "-n", "default"}, "pod/x does not exist in namespace default"},
		"no pods":                 {[]string{"-l", "app=none", "-n", "default"}, "no pod or owner of pods in namespace default matches app=none"},
		"no namespace":            {[]string{"drift", "-n", "nonexistent"}, `the namespace "nonexistent" does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"explain"}, tt.args...)
			if tt.args[0] == "drift" {
				args = tt.args
			}
			status, stdout, stderr := c.usher(t, args...)
			if status != cli.Usage || !strings.Contains(stderr, tt.want) || stdout != "" {
				t.Errorf("exit status %d: %s%s, want %q", status, stdout, stderr, tt.want)
			}
		})
	}
}

func TestExplainOffline(t *testing.T) {
	status, stdout, _ := usher(t, "", "explain", "pod", "-f", seedPod, "-t", seedTemplate)
	if status != 0 || !strings.Contains(stdout, "gets envoy, version sha256:") || !strings.Contains(stdout, "not read: the pod is in a file") {
		t.Errorf("exit status %d:\n%s", status, stdout)
	}
	denied := writeFile(t, "denied.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: denied, annotations: {inject.usher.dev/envoy: maybe}}, spec: {containers: [{name: app, image: 'app:1'}]}}")
	status, stdout, stderr := usher(t, "", "explain", "pod", "-f", denied, "-t", seedTemplate)
	if status != cli.Failed || strings.Count(stdout, `is "maybe"`) != 1 || stderr != "" {
		t.Errorf("exit status %d:\n%s%s", status, stdout, stderr)
	}
	status, stdout, _ = usher(t, "", "explain", "reason", "host-network")
	if status != 0 || !strings.Contains(stdout, "The pod is on the host network") {
		t.Errorf("exit status %d:\n%s", status, stdout)
	}
	if status, _, stderr := usher(t, "", "explain", "reason", "nonsense"); status != 2 || !strings.Contains(stderr, "not a reason code") {
		t.Errorf("exit status %d:\n%s", status, stderr)
	}
}

// TestExplain_DryRunKeepsTheNameOfAPod explains pods whose mandatory template writes
// their name, with the rights of a user who may not read templates.
func TestExplain_DryRunKeepsTheNameOfAPod(t *testing.T) {
	c := startedCluster(t)
	ns := c.namespace(t)
	c.apply(t, "usher-system", templateManifest("side:1"))
	c.apply(t, "usher-system", `
apiVersion: v1
kind: ConfigMap
metadata: {name: owned-initializer}
data:
  options: |
    mandatory: true
    parameters: [{name: owner, from: [{fact: ownerName}]}]
  config: |
    labels: {example.com/owner: "${param.owner}"}
    containers: [{name: owned, image: "owned:1"}]
`)
	pod := `{apiVersion: v1, kind: Pod, metadata: {name: bare, annotations: {inject.usher.dev/owned: "true"}}, spec: {containers: [{name: app, image: 'app:1'}]}}`
	c.until(t, "usher knows the template", func() bool {
		out, err := c.plane.Kubectl(t.Context(), pod, "create", "-n", ns, "--dry-run=server", "-o", "yaml", "-f", "-")
		return err == nil && strings.Contains(out, "image: owned:1")
	})
	c.apply(t, ns, pod)
	tenant := c.tenant(t, ns, "edit")
	want := `  unknown: the API server admits the pod, but a dry run shows what it gets only under another name, which is denied: mandatory-changed: metadata.labels[example.com/owner]: is "bare", and must be `
	if got := c.explained(t, tenant, "pod/bare"); !strings.HasPrefix(got.next, want) {
		t.Errorf("the next pod %q, want %q", got.next, want)
	}
	c.apply(t, ns, strings.NewReplacer("bare", "other", "owned", "side").Replace(pod))
	if got := c.explained(t, tenant, "pod/other"); !strings.HasPrefix(got.next, "  gets side, ") {
		t.Errorf("the next pod %q", got.next)
	}
}
