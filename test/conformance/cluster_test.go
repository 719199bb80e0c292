package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// A cluster sends objects to the API server as kubectl does.
type cluster struct{ dynamic.Interface }

func newCluster(t *testing.T) cluster {
	t.Helper()
	cfg := rest.CopyConfig(plane.Config)
	cfg.QPS = -1
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return cluster{client}
}

func (c cluster) of(o *unstructured.Unstructured) dynamic.ResourceInterface {
	m := server.kinds[o.GroupVersionKind()]
	switch r := c.Resource(m.dynamicKind); {
	case !m.namespaced:
		return r
	case o.GetNamespace() == "":
		return r.Namespace("default")
	default:
		return r.Namespace(o.GetNamespace())
	}
}

// create creates the object, sets its status if it has one, and returns the
// stored object.
func (c cluster) create(t *testing.T, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	t.Helper()
	live, err := c.of(o).Create(t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	if status, ok := o.Object["status"]; ok {
		live.Object["status"] = ofVersion(status)
		live, err = c.of(o).UpdateStatus(t.Context(), live, metav1.UpdateOptions{})
		if err != nil {
			return nil, err
		}
	}
	return live, nil
}

// ofVersion removes from a status the condition that servers before 1.31 refuse
// in Jobs without a success policy.
func ofVersion(status any) any {
	fields, _ := status.(map[string]any)
	conditions, ok := fields["conditions"].([]any)
	if !ok || serverVersion.AtLeast(version.MajorMinor(1, 31)) {
		return status
	}
	fields = maps.Clone(fields)
	fields["conditions"] = slices.DeleteFunc(slices.Clone(conditions), func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "SuccessCriteriaMet"
	})
	return fields
}

// settled waits until the server's own controllers have updated a new object.
func (c cluster) settled(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	said := map[string]string{"CustomResourceDefinition": "Established", "APIService": "Available"}[o.GetKind()]
	if said == "" {
		return o
	}
	has := func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["type"] == said && (said != "Established" || fields["status"] == "True")
	}
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		now, err := c.of(o).Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		o = now
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, has), nil
	})
	if err != nil {
		t.Fatalf("waiting until %s %s is %s: %v", o.GetKind(), o.GetName(), said, err)
	}
	return o
}

// remove releases the object's addresses and ports.
func (c cluster) remove(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	background := metav1.DeletePropagationBackground
	if err := c.of(o).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
}

// valid reports whether the server would create the object if it did not exist.
func (c cluster) valid(t *testing.T, o *unstructured.Unstructured) error {
	t.Helper()
	_, err := c.of(o).Create(t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// apply sends the same as kubectl apply: the patch from the old manifest to the
// new one, for the stored object. It is a dry run.
func (c cluster) apply(t *testing.T, old, new, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	t.Helper()
	how, patch := threeWay(t, old, new, live)
	return c.of(live).Patch(t.Context(), live.GetName(), how, patch,
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
}

// threeWay is kubectl's patch: a strategic one for what Kubernetes knows, and
// for custom resources a plain one.
func threeWay(t *testing.T, old, new, live *unstructured.Unstructured) (types.PatchType, []byte) {
	t.Helper()
	how, patch, err := threeWayOf(t, old, new, live)
	if err != nil {
		t.Fatal(err)
	}
	return how, patch
}

func threeWayOf(t *testing.T, old, new, live *unstructured.Unstructured) (how types.PatchType, patch []byte, err error) {
	t.Helper()
	defer func() {
		if reason := recover(); reason != nil { // kubectl panics as well
			err = fmt.Errorf("making the patch: %v", reason)
		}
	}()
	before, after, now := marshal(t, withoutStatus(old)), marshal(t, withoutStatus(new)), marshal(t, live)
	if !scheme.Scheme.Recognizes(live.GroupVersionKind()) {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(before, after, now)
		return types.MergePatchType, patch, err
	}
	typed, err := scheme.Scheme.New(live.GroupVersionKind())
	if err != nil {
		return "", nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return "", nil, err
	}
	patch, err = strategicpatch.CreateThreeWayMergePatch(before, after, now, meta, true)
	return types.StrategicMergePatchType, patch, err
}

func withoutStatus(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	delete(o.Object, "status")
	return o
}

func marshal(t *testing.T, o *unstructured.Unstructured) []byte {
	t.Helper()
	data, err := json.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// cause names why the server refused, without the values: the first field that
// it names, and its reason.
func cause(err error) string {
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		return "no status: " + err.Error()
	}
	s := status.Status()
	if s.Details != nil && len(s.Details.Causes) > 0 {
		c := s.Details.Causes[0]
		message := c.Message
		if i := strings.Index(message, ": "); i >= 0 && strings.HasPrefix(message, "Invalid value") {
			message = message[strings.LastIndex(message, ": ")+2:]
		}
		message, _, _ = strings.Cut(message, "\n")
		return c.Field + ": " + message
	}
	message := s.Message
	if i := strings.LastIndex(message, ": "); i >= 0 {
		message = message[i+2:]
	}
	return string(s.Reason) + ": " + message
}
