package injector

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/usher-dev/usher/injector/template"
)

// probePorts returns the value of the variable in a container. An existing
// value stays if it contains each port that the kubelet calls, so that a
// container with a probe that another webhook added later does not make the pod
// differ from its template.
func (d *decider) probePorts(container string) string {
	called := d.probedPorts()
	at := d.merge.locate(container)
	if at == nil {
		return called
	}
	had := slices.IndexFunc(at.typed.Env, func(e corev1.EnvVar) bool { return e.Name == template.ProbePortsEnv && e.ValueFrom == nil })
	if had < 0 {
		return called
	}
	ports, value := strings.Split(called, ","), at.typed.Env[had].Value
	for port := range strings.SplitSeq(value, ",") {
		if value != "" && !slices.Contains(ports, port) {
			return called
		}
	}
	return value
}

// probedPorts lists the ports of the probes and lifecycle hooks of the pod's own
// containers and of the requested templates, in order. The result does not
// depend on whether a template was already added.
func (d *decider) probedPorts() string {
	var object struct {
		Spec struct {
			Containers     []probed `json:"containers"`
			InitContainers []probed `json:"initContainers"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(d.merge.raw, &object) // the API server refuses an unreadable probe
	templates := d.templatesContainers()
	ports := map[int]bool{}
	for _, c := range slices.Concat(object.Spec.Containers, object.Spec.InitContainers) {
		if !templates[c.Name] {
			c.ports(ports)
		}
	}
	for _, a := range d.asks {
		entry, ok := d.request.Templates.Get(a.key())
		if !ok || entry.Template == nil || a.refused {
			continue
		}
		t := d.whileProbing(entry.Template)
		for _, list := range [][]template.Container{t.Containers, t.InitContainers} {
			for i := range list {
				c := &list[i].Typed
				probed{c.Name, c.Ports, c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle}.ports(ports)
			}
		}
	}
	var text []string
	for port := range ports {
		text = append(text, strconv.Itoa(port))
	}
	slices.SortFunc(text, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return strings.Join(text, ",")
}

// whileProbing returns the template with the values of its parameters, without those
// that depend on the ports of probes.
func (d *decider) whileProbing(t *template.Template) *template.Template {
	before := d.probing
	d.probing = true
	defer func() { d.probing = before }()
	return d.asInPod(t)
}

// probed is the part of a container that the kubelet calls.
type probed struct {
	Name           string                 `json:"name"`
	Ports          []corev1.ContainerPort `json:"ports"`
	LivenessProbe  *corev1.Probe          `json:"livenessProbe"`
	ReadinessProbe *corev1.Probe          `json:"readinessProbe"`
	StartupProbe   *corev1.Probe          `json:"startupProbe"`
	Lifecycle      *corev1.Lifecycle      `json:"lifecycle"`
}

// ports adds the ports that the kubelet calls at the pod's address.
func (c probed) ports(to map[int]bool) {
	call := func(host string, port intstr.IntOrString) {
		if host != "" {
			return // not the pod
		}
		number := port.IntValue()
		if port.Type == intstr.String {
			at := slices.IndexFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.StrVal })
			if at < 0 {
				return
			}
			number = int(c.Ports[at].ContainerPort)
		}
		if number > 0 && number < 1<<16 {
			to[number] = true
		}
	}
	handler := func(http *corev1.HTTPGetAction, tcp *corev1.TCPSocketAction) {
		if http != nil {
			call(http.Host, http.Port)
		}
		if tcp != nil {
			call(tcp.Host, tcp.Port)
		}
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p == nil {
			continue
		}
		handler(p.HTTPGet, p.TCPSocket)
		if p.GRPC != nil {
			call("", intstr.FromInt32(p.GRPC.Port))
		}
	}
	if c.Lifecycle != nil {
		for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil {
				handler(h.HTTPGet, h.TCPSocket)
			}
		}
	}
}
