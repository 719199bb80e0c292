package rules

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/policies"
)

// ingress-backend: an Ingress leads to a Service that is not among the files, or to a
// port that the Service does not have.
func init() {
	register(policies.Rule{
		ID:       "ingress-backend",
		Level:    finding.Baseline,
		Since:    release.V(0, 2),
		Group:    "references",
		Together: true,
		Kinds:    []string{"Ingress"},
		Summary:  "An Ingress leads to a Service or a port that does not exist",
		Harm:     "clients get an error of the ingress controller, such as 503",
		Fix:      "write the name and a port of a Service, such as `service: {name: web, port: {number: 80}}`",
		Check: on(func(p *policies.Pass, in *networkingv1.Ingress) {
			u := p.Whole()
			if u == nil {
				return
			}
			spec := field.NewPath("spec")
			if in.Spec.DefaultBackend != nil {
				judgeBackend(p, u, spec.Child("defaultBackend"), in.Spec.DefaultBackend)
			}
			for i, rule := range in.Spec.Rules {
				if rule.HTTP == nil {
					continue
				}
				for j := range rule.HTTP.Paths {
					judgeBackend(p, u, spec.Child("rules").Index(i).Child("http", "paths").Index(j).Child("backend"), &rule.HTTP.Paths[j].Backend)
				}
			}
		}),
	})
}

// judgeBackend reports what is missing of a backend.
func judgeBackend(p *policies.Pass, u policies.Unit, at *field.Path, b *networkingv1.IngressBackend) {
	// The AWS controller takes such backends from annotations.
	if b.Service == nil || b.Service.Port.Name == "use-annotation" {
		return
	}
	at = at.Child("service")
	name, port := b.Service.Name, b.Service.Port
	found := u.Named("Service", p.Meta.Namespace, name)
	if len(found) == 0 {
		names := u.Names("Service")
		instead := thereIs("", name, names)
		switch {
		case slices.Contains(names, name) && u.Has("Service"):
			instead = " in its namespace"
		case instead == "" && !u.Has("Service"):
			return
		}
		p.Report(at.Child("name"), name, "name is "+name+", a Service that the files do not have"+instead+": write the name of a Service")
		return
	}
	ports, ok := servicePorts(found, port)
	if ok {
		return
	}
	has := ", which is not a port of Service " + name + ", which has the ports " + strings.Join(ports, ", ") + ": write one of them"
	if port.Name != "" {
		p.Report(at.Child("port", "name"), port.Name, "port is "+port.Name+has)
		return
	}
	p.Report(at.Child("port", "number"), port.Number, "port is "+printed(port.Number)+has)
}

// servicePorts returns the ports of a Service; ok is true if one of the alternatives of
// the name has a port, or if that cannot be told.
func servicePorts(found []*policies.Object, want networkingv1.ServiceBackendPort) (ports []string, ok bool) {
	for _, o := range found {
		s, typed := o.Typed.(*corev1.Service)
		if !typed || s.Spec.Type == corev1.ServiceTypeExternalName {
			return nil, true
		}
		ports = ports[:0]
		for _, port := range s.Spec.Ports {
			if port.Name == want.Name && port.Name != "" || port.Port == want.Number {
				return nil, true
			}
			ports = append(ports, printed(port.Port))
			if port.Name != "" {
				ports[len(ports)-1] += " (" + port.Name + ")"
			}
		}
	}
	return ports, false
}
