package handlers_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

var restoredPods = flag.Int("restored", 300, "how many pods are created, edited and restored")

// restorable has fields that identify a container, and fields that edits can
// change.
const restorable = `
containers: [{name: NAME, image: 'registry.example.com/team/NAME:1', args: [--run], command: [NAME], ports: [{containerPort: 15001}], env: [{name: A, value: a}],
  resources: {requests: {cpu: 10m}}, volumeMounts: [{name: NAME-v, mountPath: /etc/NAME}]}]
volumes: [{name: NAME-v, configMap: {name: c}}]
labels: {NAME: side}
annotations: {NAME.example.com/port: "1"}`

// An edit is a change that people, backups and other webhooks make to an
// injected pod.
type edit struct {
	name string
	do   func(*rand.Rand, *corev1.Pod, *corev1.Container)
}

var edits = []edit{
	{"nothing", func(*rand.Rand, *corev1.Pod, *corev1.Container) {}},
	{"digest", func(_ *rand.Rand, _ *corev1.Pod, s *corev1.Container) {
		s.Image = "registry.example.com/team/" + s.Name + "@sha256:" + strings.Repeat("2", 64)
	}},
	{"registry", func(_ *rand.Rand, _ *corev1.Pod, s *corev1.Container) {
		s.Image = "mirror.example.com/" + s.Name + ":1"
	}},
	{"image", func(_ *rand.Rand, _ *corev1.Pod, s *corev1.Container) { s.Image = "other:1" }},
	{"requests", func(r *rand.Rand, _ *corev1.Pod, s *corev1.Container) {
		s.Resources.Requests = corev1.ResourceList{"cpu": *resource.NewMilliQuantity(20+r.Int64N(500), resource.DecimalSI), "memory": resource.MustParse("32Mi")}
	}},
	{"variable", func(r *rand.Rand, _ *corev1.Pod, s *corev1.Container) {
		s.Env = slices.Insert(s.Env, r.IntN(len(s.Env)+1), corev1.EnvVar{Name: "ADDED", Value: "x"})
	}},
	{"value", func(_ *rand.Rand, _ *corev1.Pod, s *corev1.Container) {
		s.Env = append(s.Env, corev1.EnvVar{Name: "A", Value: "mine"})
	}},
	{"arguments", func(_ *rand.Rand, _ *corev1.Pod, s *corev1.Container) { s.Args = append(s.Args, "--more") }},
	{"command", func(_ *rand.Rand, _ *corev1.Pod, s *corev1.Container) { s.Command = []string{"/bin/true"} }},
	{"ports", func(r *rand.Rand, _ *corev1.Pod, s *corev1.Container) {
		s.Ports = []corev1.ContainerPort{{ContainerPort: 1 + r.Int32N(9000), Protocol: corev1.ProtocolTCP}}
	}},
	{"security context", func(_ *rand.Rand, _ *corev1.Pod, s *corev1.Container) {
		s.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: new(true)}
	}},
	{"mount", func(r *rand.Rand, p *corev1.Pod, s *corev1.Container) {
		name := fmt.Sprintf("w%d", len(p.Spec.Volumes))
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name})
		s.VolumeMounts = append(s.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: []string{"/" + name, "/etc/" + s.Name + "/" + name}[r.IntN(2)]})
	}},
	{"mounts", func(_ *rand.Rand, _ *corev1.Pod, s *corev1.Container) {
		for i := range s.VolumeMounts {
			if s.VolumeMounts[i].Name == s.Name+"-v" {
				s.VolumeMounts[i].MountPath = "/moved"
			}
		}
	}},
	{"volume", func(_ *rand.Rand, p *corev1.Pod, s *corev1.Container) {
		for i := range p.Spec.Volumes {
			if p.Spec.Volumes[i].Name == s.Name+"-v" {
				p.Spec.Volumes[i].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
			}
		}
	}},
	{"label", func(_ *rand.Rand, p *corev1.Pod, s *corev1.Container) { p.Labels[s.Name] = "mine" }},
	{"no label", func(_ *rand.Rand, p *corev1.Pod, s *corev1.Container) { delete(p.Labels, s.Name) }},
	{"no annotation", func(_ *rand.Rand, p *corev1.Pod, s *corev1.Container) {
		delete(p.Annotations, s.Name+".example.com/port")
	}},
	{"no record", func(_ *rand.Rand, p *corev1.Pod, _ *corev1.Container) {
		delete(p.Annotations, wellknown.AnnotationInjected)
	}},
	{"old record", func(_ *rand.Rand, p *corev1.Pod, _ *corev1.Container) {
		if record, has := p.Annotations[wellknown.AnnotationInjected]; has {
			p.Annotations[wellknown.AnnotationInjected] = strings.Replace(record, "sha256:", "sha256:0", 1)
		}
	}},
	{"a container before", func(_ *rand.Rand, p *corev1.Pod, _ *corev1.Container) {
		p.Spec.Containers = slices.Insert(p.Spec.Containers, 0, corev1.Container{Name: fmt.Sprintf("first-%d", len(p.Spec.Containers)), Image: "first:1"})
	}},
}

// of returns the sidecar of a pod, or nil.
func of(p *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// backup copies the part of a pod that a backup stores.
func backup(p *corev1.Pod) *corev1.Pod {
	kept := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "restored-", Labels: p.Labels, Annotations: p.Annotations}, Spec: p.Spec}
	kept = kept.DeepCopy()
	if kept.Labels == nil {
		kept.Labels = map[string]string{}
	}
	return kept
}

// TestRestoredPods creates pods, edits them one to three times and restores them.
// A template that is not mandatory only denies conflicts with containers that
// neither the record nor recognition covers, and a mandatory one admits only
// differences that it tolerates.
func TestRestoredPods(t *testing.T) {
	c := webhooktest.Started(t)
	ns := c.NewNamespace(t, nil)
	tolerated := map[string][]string{"soft": nil, "hard": nil, "lenient": {"image", "resources", "env"}}
	for name, tolerate := range tolerated {
		options := ""
		if name != "soft" {
			options = "{mandatory: true, tolerate: [" + strings.Join(tolerate, ",") + "]}"
		}
		c.Template(t, name, strings.ReplaceAll(restorable, "NAME", name), options)
	}
	c.Until(t, "the mandatory templates are registered", func() bool {
		text, _ := c.Rendered(t)
		return strings.Contains(text, `inject.usher.dev/lenient`) && strings.Contains(text, `inject.usher.dev/hard`)
	})
	var mu sync.Mutex
	collisions, outcomes := map[string]int{}, map[string]int{}
	var group sync.WaitGroup
	const workers = 8
	for worker := range workers {
		group.Go(func() {
			for n := worker; n < *restoredPods; n += workers {
				r := rand.New(rand.NewPCG(1, uint64(n)))
				template := []string{"soft", "hard", "lenient"}[n%3]
				spec := []string{"", "restartPolicy: Never, containers: [{name: app, image: app}]"}[r.IntN(2)]
				sent := webhooktest.Pod(t, `"inject.usher.dev/`+template+`": "true"`, spec)
				dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
				first, err := c.CoreV1().Pods(ns).Create(t.Context(), sent, dry)
				if err != nil {
					t.Errorf("%d: creating: %v", n, err)
					return
				}
				edited := backup(first)
				var done []string
				for range 1 + r.IntN(3) {
					e := edits[r.IntN(len(edits))]
					e.do(r, edited, of(edited, template))
					done = append(done, e.name)
				}
				restored, err := c.CoreV1().Pods(ns).Create(t.Context(), edited.DeepCopy(), dry)
				what := fmt.Sprintf("%s after %s", template, strings.Join(done, ", "))
				switch {
				case err != nil && !apierrors.IsForbidden(err):
					t.Errorf("%d: %s: %v", n, what, err)
				case template == "soft" && err != nil && !collides(edited, of(first, template)):
					t.Errorf("%d: %s is denied: %v", n, what, err)
				case template == "soft" && err == nil && len(restored.Spec.Containers)+len(restored.Spec.InitContainers) != len(edited.Spec.Containers)+len(edited.Spec.InitContainers):
					t.Errorf("%d: %s: has %s", n, what, webhooktest.Containers(restored))
				case template != "soft" && (err != nil) != differs(edited, first, template, tolerated[template]):
					t.Errorf("%d: %s: denied %v: %v", n, what, err != nil, err)
				case template != "soft" && err == nil && differs(restored, first, template, tolerated[template]):
					t.Errorf("%d: %s is admitted with %+v", n, what, of(restored, template))
				}
				mu.Lock()
				outcomes[fmt.Sprintf("%s admitted: %v", template, err == nil)]++
				if template == "soft" && err != nil {
					slices.Sort(done)
					collisions[strings.Join(slices.Compact(done), ", ")]++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	t.Logf("%d pods: %v", *restoredPods, outcomes)
	for what, n := range collisions {
		t.Logf("collision after %s: %d", what, n)
	}
	for _, name := range []string{"soft admitted: true", "hard admitted: true", "hard admitted: false", "lenient admitted: true", "lenient admitted: false"} {
		if outcomes[name] == 0 {
			t.Errorf("never %s: too few to prove anything", name)
		}
	}
}

// collides reports whether a pod has a container with the template's name that
// its record does not cover, and that cannot be recognized.
func collides(p *corev1.Pod, was *corev1.Container) bool {
	if p.Annotations[wellknown.AnnotationInjected] != "" {
		return false
	}
	is := of(p, was.Name)
	mounts := slices.ContainsFunc(is.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/"+is.Name })
	same := slices.Equal(is.Args, was.Args) || slices.Equal(is.Command, was.Command) || equality.Semantic.DeepEqual(is.Ports, was.Ports) || mounts
	return !same || strings.HasPrefix(is.Image, "other")
}

// differs reports whether a pod's sidecar differs from the injected one in a
// way that is not tolerated. Injection rewrites a record, and sets a missing
// label again.
func differs(p, first *corev1.Pod, name string, tolerate []string) bool {
	is, was := of(p, name).DeepCopy(), of(first, name).DeepCopy()
	if slices.Contains(tolerate, "image") && !strings.HasPrefix(is.Image, "other") {
		is.Image = was.Image
	}
	if slices.Contains(tolerate, "resources") {
		is.Resources = was.Resources
	}
	if slices.Contains(tolerate, "env") {
		is.Env = slices.DeleteFunc(is.Env, func(e corev1.EnvVar) bool { return e.Name == "ADDED" })
	}
	source := func(p *corev1.Pod) corev1.VolumeSource {
		for _, v := range p.Spec.Volumes {
			if v.Name == name+"-v" {
				return v.VolumeSource
			}
		}
		return corev1.VolumeSource{}
	}
	label, set := p.Labels[name]
	return !equality.Semantic.DeepEqual(is, was) || set && label != first.Labels[name] || !equality.Semantic.DeepEqual(source(p), source(first))
}
