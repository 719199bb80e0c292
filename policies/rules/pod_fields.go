package rules

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/policies"
	"github.com/usher-dev/usher/release"
)

// pod-fields: a field of a pod has a value that it cannot have: policies that
// do not exist, names that cannot be names, tolerations that contradict
// themselves.
//
// A container's own restart policy is judged by the server's version: before
// 1.35 only sidecars could have one. A StatefulSet names its pods itself, so hostname and subdomain are not looked
// at there.
func init() {
	register(policies.Rule{
		ID:              "pod-fields",
		Level:           finding.Invariant,
		Since:           release.V(0, 1),
		Pods:            true,
		Summary:         "A field of a pod has a value that it cannot have",
		Harm:            "the API server refuses the object",
		Fix:             "write what the message says",
		RefusedByServer: true,
		Check: onPods(func(p *policies.Pass, t *policies.PodTemplate) {
			s := t.Spec
			if p.Kind == "Pod" || p.Kind == "PodTemplate" || p.Typed == nil {
				if s.RestartPolicy != "" {
					oneOf(p, t.At("spec", "restartPolicy"), s.RestartPolicy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
				}
			}
			oneOf(p, t.At("spec", "dnsPolicy"), s.DNSPolicy, corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone)
			if s.DNSPolicy == corev1.DNSNone && (s.DNSConfig == nil || len(s.DNSConfig.Nameservers) == 0) {
				p.Report(t.At("spec", "dnsConfig"), nil, "dnsConfig names no nameserver, but dnsPolicy is None: write nameservers")
			}
			if p.Kind != "StatefulSet" {
				optional(p, t, "hostname", s.Hostname, dnsLabel())
				optional(p, t, "subdomain", s.Subdomain, dnsLabel())
			}
			account := s.ServiceAccountName
			if account == "" {
				account = s.DeprecatedServiceAccount
			}
			optional(p, t, "serviceAccountName", account, dnsSubdomain())
			optional(p, t, "nodeName", s.NodeName, dnsSubdomain())
			optional(p, t, "priorityClassName", s.PriorityClassName, dnsSubdomain())
			if s.RuntimeClassName != nil {
				shaped(p, t.At("spec", "runtimeClassName"), *s.RuntimeClassName, dnsSubdomain())
			}
			// Of workloads that keep running it is another finding in any case.
			if d := s.ActiveDeadlineSeconds; d != nil {
				within(p, t.At("spec", "activeDeadlineSeconds"), *d, 1, math.MaxInt32)
			}
			if len(s.NodeSelector) > 0 {
				pairs(p, t.At("spec", "nodeSelector"), s.NodeSelector)
			}
			for i := range s.Tolerations {
				toleration(p, t.At("spec", "tolerations").Index(i), &s.Tolerations[i])
			}
			if t.Path != nil && len(s.EphemeralContainers) > 0 {
				p.Report(t.At("spec", "ephemeralContainers"), nil, "ephemeralContainers are set; they are added to pods that run: remove them")
			}
			t.Containers(func(c policies.PodContainer) {
				containerRestart(p, c)
			})
		}),
	})
}

// containerRestart checks the restart policy of one container. Only sidecars
// could have one before Kubernetes 1.35.
func containerRestart(p *policies.Pass, c policies.PodContainer) {
	if c.RestartPolicy == nil {
		return
	}
	at, policy := c.Path().Child("restartPolicy"), *c.RestartPolicy
	switch {
	case !p.AtLeast(35) && !c.Init:
		p.Report(at, policy, "restartPolicy of container "+c.Name+" is set, which "+p.ServerName()+" allows for init containers only: remove it")
	case !p.AtLeast(35):
		word(p, at, string(policy), string(corev1.ContainerRestartPolicyAlways))
	default:
		word(p, at, string(policy), string(corev1.ContainerRestartPolicyAlways), string(corev1.ContainerRestartPolicyNever), string(corev1.ContainerRestartPolicyOnFailure))
	}
}

func optional(p *policies.Pass, t *policies.PodTemplate, name, text string, f form) {
	if text != "" {
		shaped(p, t.At("spec", name), text, f)
	}
}

func toleration(p *policies.Pass, at *field.Path, t *corev1.Toleration) {
	if t.Key != "" {
		shaped(p, at.Child("key"), t.Key, labelKey())
	} else if t.Operator != corev1.TolerationOpExists {
		p.Report(at.Child("operator"), t.Operator, "operator is "+quoted(string(t.Operator))+" without a key: write a key, or operator: Exists for all taints")
	}
	switch t.Operator {
	case corev1.TolerationOpExists:
		if t.Value != "" {
			p.Report(at.Child("value"), t.Value, "value is "+quoted(t.Value)+", but Exists compares with nothing: remove it")
		}
	case corev1.TolerationOpEqual, "":
		if t.Value != "" {
			shaped(p, at.Child("value"), t.Value, labelValue())
		}
	default:
		oneOf(p, at.Child("operator"), t.Operator, corev1.TolerationOpExists, corev1.TolerationOpEqual)
	}
	oneOf(p, at.Child("effect"), t.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		p.Report(at.Child("effect"), t.Effect, "effect is "+quoted(string(t.Effect))+" beside tolerationSeconds: write NoExecute")
	}
}
