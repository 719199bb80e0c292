package webhook_test

import (
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/api/wellknown"
	facts "github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/webhook/handlers"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// shop is a Deployment that conflicts with another and with an autoscaler.
func shop(namespace string) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"` + namespace + `","name":"shop"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"shop"}},
"template":{"metadata":{"labels":{"app":"shop"}},"spec":{"containers":[{"name":"app","image":"app"}]}}}}`
}

// hidden creates a Deployment, an autoscaler and a Network of that name.
func hidden(t *testing.T, c *webhooktest.Cluster, namespace string) {
	t.Helper()
	if _, err := c.AppsV1().Deployments(namespace).Create(t.Context(), webhooktest.Shop(t, "hidden", ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	scaler := webhooktest.FromYAML[autoscalingv2.HorizontalPodAutoscaler](t, `
metadata: {name: hidden}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}, maxReplicas: 3}
`)
	if _, err := c.AutoscalingV2().HorizontalPodAutoscalers(namespace).Create(t.Context(), scaler, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Network(t, namespace, "hidden", "", "")
}

// TestAnswersNameNoOtherObjects sends reviews as any client that reaches the
// port can.
func TestAnswersNameNoOtherObjects(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.Enforced(t, "baseline")
	hidden(t, c, ns)
	for rule, forged := range map[string]struct{ group, version, kind, object, says string }{
		"selector-overlap":    {"apps", "v1", "Deployment", shop(ns), "1 other workload"},
		"deploy-hpa-replicas": {"apps", "v1", "Deployment", shop(ns), "a HorizontalPodAutoscaler sets it"},
		"network-overlap": {"samplecrd.k8s.io", "v1", "Network", `{"apiVersion":"samplecrd.k8s.io/v1","kind":"Network","metadata":{"name":"net"},"spec":{"cidr":"10.9.0.0/16"}}`,
			"1 other Network"},
	} {
		t.Run(rule, func(t *testing.T) {
			body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"group":"` + forged.group + `","version":"` + forged.version +
				`","kind":"` + forged.kind + `"},"namespace":"` + ns + `","operation":"CREATE","object":` + forged.object + `}}`
			var answer string
			c.Until(t, "usher sees the other object", func() bool {
				_, text := c.Post(t, "/validate", "application/json", []byte(body))
				answer = string(text)
				return strings.Contains(answer, rule)
			})
			if strings.Contains(answer, "hidden") || !strings.Contains(answer, forged.says) {
				t.Errorf("want %q without the name of the object: %s", forged.says, answer)
			}
		})
	}
}

// TestAnswersToTheAPIServerNameOtherObjects asks as with client certificates.
func TestAnswersToTheAPIServerNameOtherObjects(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.Enforced(t, "off")
	hidden(t, c, ns)
	reader, err := client.New(c.Plane.Config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	known := benchFacts(version.MajorMinor(1, 36))
	known.Objects = facts.NewLister(reader, time.Minute)
	known.Namespaces.Put(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: ns, Labels: map[string]string{wellknown.LabelEnforce: "baseline"}}})
	for _, authenticated := range []bool{true, false} {
		req := &review.Request{Namespace: ns, Name: "shop", Operation: "CREATE", Object: []byte(shop(ns))}
		req.Kind.Group, req.Kind.Version, req.Kind.Kind = "apps", "v1", "Deployment"
		res, err := (&handlers.Policies{Facts: known, Authenticated: authenticated}).Handler().Decide(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		said, withheld := res.Message+res.Audit["findings"], strings.Join(res.Withheld, "\n")
		for _, name := range []string{"Deployment hidden", "HorizontalPodAutoscaler hidden"} {
			if strings.Contains(said, name) != authenticated || strings.Contains(withheld, name) == authenticated {
				t.Errorf("authenticated %t: the answer is %q, and the log gets %q", authenticated, said, withheld)
			}
		}
	}
}
