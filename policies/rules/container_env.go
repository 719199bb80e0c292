package rules

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// container-env: an environment variable has no name, or two values, or takes
// its value from nowhere. Since Kubernetes 1.32 names may be any printable
// characters but =; before, those of a variable of the shell, dashes and dots.
func init() {
	register(policies.Rule{
		ID:              "container-env",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Pods:            true,
		Summary:         "An environment variable is malformed",
		Harm:            "the API server refuses the object",
		Fix:             "write a name without =, and either value or one source under valueFrom",
		RefusedByServer: true,
		Check: onContainers(func(p *policies.Pass, c policies.PodContainer) {
			for i := range c.Env {
				e := &c.Env[i]
				switch {
				case e.Name == "":
					p.Report(c.Path().Child("env").Index(i).Child("name"), nil, "name of env["+printed(i)+"] is not set: write one")
				case !p.AtLeast(32) && len(validation.IsEnvVarName(e.Name)) > 0:
					p.Report(c.Path().Child("env").Index(i).Child("name"), e.Name, "name is "+quoted(e.Name)+", which "+p.ServerName()+" does not take: write letters, digits, dashes, underscores and dots, no digit first")
				case len(validation.IsRelaxedEnvVarName(e.Name)) > 0:
					p.Report(c.Path().Child("env").Index(i).Child("name"), e.Name, "name is "+quoted(e.Name)+": write printable characters without =")
				}
				if e.ValueFrom != nil {
					valueFrom(p, e, c.Path().Child("env").Index(i).Child("valueFrom"))
				}
			}
			for i := range c.EnvFrom {
				e, at := &c.EnvFrom[i], c.Path().Child("envFrom").Index(i)
				switch {
				case e.ConfigMapRef != nil && e.SecretRef != nil || e.ConfigMapRef == nil && e.SecretRef == nil:
					p.Report(at, nil, "envFrom["+printed(i)+"] must name one source: write configMapRef or secretRef")
				case e.ConfigMapRef != nil:
					required(p, at.Child("configMapRef", "name"), e.ConfigMapRef.Name, dnsSubdomain())
				default:
					required(p, at.Child("secretRef", "name"), e.SecretRef.Name, dnsSubdomain())
				}
			}
		}),
	})
}

func valueFrom(p *policies.Pass, e *corev1.EnvVar, at *field.Path) {
	from, sources := e.ValueFrom, 0
	if from.FieldRef != nil {
		sources++
		if from.FieldRef.FieldPath == "" {
			p.Report(at.Child("fieldRef", "fieldPath"), nil, "fieldPath is not set: write one, such as metadata.name")
		} else if !knownField(from.FieldRef.FieldPath) {
			p.Report(at.Child("fieldRef", "fieldPath"), from.FieldRef.FieldPath, "fieldPath is "+quoted(from.FieldRef.FieldPath)+", which a container cannot be told: write one such as metadata.name or status.podIP")
		}
	}
	if from.ResourceFieldRef != nil {
		sources++
		if from.ResourceFieldRef.Resource == "" {
			p.Report(at.Child("resourceFieldRef", "resource"), nil, "resource is not set: write one, such as limits.memory")
		} else if !knownResource(from.ResourceFieldRef.Resource) {
			p.Report(at.Child("resourceFieldRef", "resource"), from.ResourceFieldRef.Resource, "resource is "+quoted(from.ResourceFieldRef.Resource)+": write limits or requests with .cpu, .memory or .ephemeral-storage")
		}
	}
	if k := from.ConfigMapKeyRef; k != nil {
		sources++
		required(p, at.Child("configMapKeyRef", "name"), k.Name, dnsSubdomain())
		configKey(p, at.Child("configMapKeyRef", "key"), k.Key)
	}
	if k := from.SecretKeyRef; k != nil {
		sources++
		required(p, at.Child("secretKeyRef", "name"), k.Name, dnsSubdomain())
		configKey(p, at.Child("secretKeyRef", "key"), k.Key)
	}
	if from.FileKeyRef != nil {
		sources++
	}
	switch {
	case sources != 1:
		p.Report(at, nil, "valueFrom of "+e.Name+" names "+printed(sources)+" sources: write one of fieldRef, resourceFieldRef, configMapKeyRef and secretKeyRef")
	case e.Value != "":
		p.Report(at, e.Value, "valueFrom of "+e.Name+" is set beside value: write one of the two")
	}
}

// knownField reports whether a field of a pod can be told to its containers.
func knownField(path string) bool {
	switch path {
	case "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.host", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs":
		return true
	}
	for _, prefix := range []string{"metadata.annotations['", "metadata.labels['"} {
		key, ok := strings.CutPrefix(path, prefix)
		if key, end := strings.CutSuffix(key, "']"); ok && end {
			return len(labelKey().check(key)) == 0
		}
	}
	return false
}

// knownResource reports whether a resource can be told to a container.
func knownResource(name string) bool {
	what, ok := strings.CutPrefix(name, "limits.")
	if !ok {
		what, ok = strings.CutPrefix(name, "requests.")
	}
	return ok && (what == "cpu" || what == "memory" || what == "ephemeral-storage" || strings.HasPrefix(what, "hugepages-"))
}

// configKey checks a key of a ConfigMap or Secret.
func configKey(p *policies.Pass, at *field.Path, key string) {
	required(p, at, key, form{validation.IsConfigMapKey, "key of a ConfigMap or Secret", "letters, digits, dashes, underscores and dots, 253 at most"})
}
