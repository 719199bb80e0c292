package differential

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/usher-dev/usher/injector/podjson/podjsontest"
	"github.com/usher-dev/usher/test/admission"
)

// controllersUser is the user whose owner references usher believes.
const controllersUser = "system:serviceaccount:kube-system:replicaset-controller"

// A pass is a pod before and after usher, and after it was sent once more.
type pass struct {
	sent, first object
	second      *admission.Answer
}

// sendAgain sends the resulting pod of a scene once more, under its name; nil if
// there is none.
func (c *cluster) sendAgain(ctx context.Context, p *played, sent object) (*pass, error) {
	r := admission.Request{Method: http.MethodPost, Namespace: p.scene.Namespace, DryRun: true}
	a := &p.Answer
	if p.scene.kind() != "Pod" {
		a, r.User = p.pod, controllersUser
	}
	if a == nil || a.Object == nil {
		return nil, nil
	}
	r.Object = clone(a.Object)
	for _, key := range []string{"managedFields", "uid", "creationTimestamp"} {
		delete(at(r.Object, "metadata"), key)
	}
	delete(r.Object, "status")
	second, err := c.server.Send(ctx, r)
	return &pass{sent: sent, first: a.Object, second: second}, err
}

// comparePasses finds what the second pass says or changes, and what the first one
// lost.
func (c *cluster) comparePasses(ctx context.Context, s *scene, p *pass) ([]difference, error) {
	if p == nil {
		return nil, nil
	}
	var found []difference
	switch {
	case p.second.Object == nil:
		found = append(found, difference{"the second pass denies", s.kind(), "admitted", p.second.Message})
	case gocmp.Diff(normal(p.first), normal(p.second.Object)) != "":
		found = append(found, difference{"the second pass changes the pod", s.kind(), "nothing", gocmp.Diff(normal(p.first), normal(p.second.Object))})
	}
	sent, err := c.complete(ctx, p.sent)
	if err != nil {
		return found, err
	}
	if where := lost(normal(sent), normal(p.first)); where != "" {
		found = append(found, difference{"injection loses something of the pod", s.kind(), where, fmt.Sprint(p.sent)})
	}
	return found, nil
}

// lost returns the path of what a pod lacks that it had. Templates may append to a
// variable, Networks to an annotation, and the record is usher's own.
func lost(before, after object) string {
	before, after = clone(before), clone(after)
	for _, key := range []string{"k8s.v1.cni.cncf.io/networks", "usher.dev/injected"} {
		delete(at(before, "metadata", "annotations"), key)
	}
	values := map[string]string{}
	eachVariable(after, func(container string, variable object) {
		values[container+" "+nameOf(variable)], _ = variable["value"].(string)
	})
	eachVariable(before, func(container string, variable object) {
		now := values[container+" "+nameOf(variable)]
		if was, _ := variable["value"].(string); was != "" && strings.HasPrefix(now, was) {
			variable["value"] = now
		}
	})
	if fmt.Sprint(at(before, "spec")["terminationGracePeriodSeconds"]) == "30" {
		delete(at(before, "spec"), "terminationGracePeriodSeconds") // the API server's default, which a template may change
	}
	if where := lostOfCustomized(before, after); where != "" {
		return where
	}
	return podjsontest.Lost(any(before), any(after), "")
}

// lostOfCustomized takes the containers that a template completes out of a pod, and
// returns what one of them lost. They may move, and the API server derives some of
// their fields from the image.
func lostOfCustomized(before, after object) string {
	for _, list := range []string{"containers", "initContainers"} {
		var others []any
		for _, container := range items(at(before, "spec"), list) {
			if container["image"] != "auto" {
				others = append(others, any(container))
				continue
			}
			for _, derived := range []string{"image", "imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"} {
				delete(container, derived)
			}
			kept := false
			for _, now := range append(items(at(after, "spec"), "containers"), items(at(after, "spec"), "initContainers")...) {
				kept = kept || podjsontest.Lost(any(container), any(now), "") == ""
			}
			if !kept {
				return list + " " + nameOf(container)
			}
		}
		if _, has := at(before, "spec")[list]; has {
			at(before, "spec")[list] = others
		}
	}
	return ""
}

func eachVariable(pod object, visit func(container string, variable object)) {
	for _, list := range []string{"containers", "initContainers"} {
		for _, container := range items(at(pod, "spec"), list) {
			for _, variable := range items(container, "env") {
				visit(list+" "+nameOf(container), variable)
			}
		}
	}
}

// TestALossIsFound takes something from a pod.
func TestALossIsFound(t *testing.T) {
	pod := func() object {
		pod := injectedPod()
		items(at(pod, "spec"), "containers")[0]["env"] = []any{object{"name": "OPTIONS", "value": "-a"}}
		at(pod, "metadata", "annotations")["note"] = "mine"
		return pod
	}
	for name, c := range map[string]struct {
		take func(object)
		want string
	}{
		"nothing":              {func(object) {}, ""},
		"a value is appended":  {func(o object) { variableOf(o)["value"] = "-a -b" }, ""},
		"a value is replaced":  {func(o object) { variableOf(o)["value"] = "-b" }, ".spec.containers[0]"},
		"a container":          {func(o object) { at(o, "spec")["containers"] = []any{} }, ".spec.containers[0]"},
		"an image":             {func(o object) { items(at(o, "spec"), "containers")[0]["image"] = "other" }, ".spec.containers[0]"},
		"a volume's source":    {func(o object) { items(at(o, "spec"), "volumes")[0]["emptyDir"] = nil }, ".spec.volumes[0]"},
		"an annotation":        {func(o object) { delete(at(o, "metadata", "annotations"), "note") }, ".metadata.annotations.note"},
		"the order is another": {func(o object) { s := anyItems(at(o, "spec"), "initContainers"); s[0], s[1] = s[1], s[0] }, ".spec.initContainers[1]"},
	} {
		after := clone(pod())
		c.take(after)
		if got := lost(pod(), after); got != c.want {
			t.Errorf("%s: lost %q, want %q", name, got, c.want)
		}
	}
}

func variableOf(pod object) object { return items(items(at(pod, "spec"), "containers")[0], "env")[0] }

// TestACustomizedContainerMayMove completes a container, and takes something from it.
func TestACustomizedContainerMayMove(t *testing.T) {
	before := object{"spec": object{"containers": []any{
		object{"name": "app"}, object{"name": "side", "image": "auto", "imagePullPolicy": "Always", "args": []any{"-a"}},
	}}}
	moved := func(args ...any) object {
		return object{"spec": object{"containers": []any{object{"name": "app"}}, "initContainers": []any{
			object{"name": "side", "image": "side:1", "imagePullPolicy": "IfNotPresent", "args": args, "restartPolicy": "Always"},
		}}}
	}
	if got := lost(before, moved("-a")); got != "" {
		t.Errorf("lost %q, want nothing", got)
	}
	if got := lost(before, moved("-b")); got != "containers side" {
		t.Errorf("lost %q, want the container", got)
	}
}
