package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/injector/template"
)

// TestReplaced edits a template repeatedly: a replaced version stays valid for
// a while, and is then forgotten.
func TestReplaced(t *testing.T) {
	version := func(n int) *template.Template {
		t.Helper()
		template, err := template.Parse("side", map[string]string{template.ConfigKey: fmt.Sprintf("containers: [{name: side, image: 'side:%d'}]", n)})
		if err != nil {
			t.Fatal(err)
		}
		return template
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	entry := injector.Entry{Template: version(0)}
	for n := 1; n <= 10; n++ {
		next := version(n)
		entry.Replaced = replaced(entry, next, at.Add(time.Duration(n)*injector.ReplacedFor/4))
		entry.Template = next
	}
	if len(entry.Replaced) != 4 || entry.Replaced[0].Template.Version != version(9).Version {
		t.Errorf("%d versions are kept, the latest %s", len(entry.Replaced), entry.Replaced[0].Template.Version)
	}
	// The same content again, with another resourceVersion.
	if same := replaced(entry, version(10), at.Add(injector.ReplacedFor*13/4)); len(same) != 1 || same[0].Template.Version != version(9).Version {
		t.Errorf("%d versions are kept", len(same))
	}
	if first := replaced(injector.Entry{}, version(0), at); len(first) != 0 {
		t.Errorf("%d versions are kept of a template that is new", len(first))
	}
}

// TestTemplates_ManyOfOneContainer_WarnOfAFew puts templates none of which a pod can
// have together with another: what is logged does not grow with their number.
func TestTemplates_ManyOfOneContainer_WarnOfAFew(t *testing.T) {
	var warned int
	log := funcr.New(func(_, args string) {
		if strings.Contains(args, "warning: ") {
			warned++
		}
	}, funcr.Options{})
	templates := NewTemplates("usher-system", nil, NewMetrics(prometheus.NewRegistry()), log)
	for i := range 50 {
		warned = 0
		templates.Put(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "usher-system", Name: fmt.Sprintf("side-%d-initializer", i), ResourceVersion: fmt.Sprint(i + 1)},
			Data:       map[string]string{"config": "containers: [{name: side, image: s}]"},
		})
		if want := min(i, 6); warned != want {
			t.Fatalf("after %d others: %d warnings, want %d", i, warned, want)
		}
	}
}
