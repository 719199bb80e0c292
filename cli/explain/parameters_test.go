package explain

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/facts/kubeconfig"
)

func TestPodNow_ShowsTheValuesOfParameters(t *testing.T) {
	pod := &unstructured.Unstructured{}
	pod.SetName("p")
	pod.SetAnnotations(map[string]string{wellknown.AnnotationInjected: `{"side":{"version":"sha256:1","parameters":{"zone":"b","port":"9"}}}`})
	now := podNow(kubeconfig.Workload{Unstructured: pod}, nil, nil)
	if text := strings.Join(now.lines(), "; "); !strings.Contains(text, `, parameters port="9", zone="b"`) {
		t.Error(text)
	}
}
