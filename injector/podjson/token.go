package podjson

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"
)

// The API server's admission plugin ServiceAccount mounts the pod's token in
// every container, at TokenPath from a volume with this prefix. It runs before
// webhooks, and again after a webhook has added a container, which then gets
// the mount, too. Because that changes the pod, the API server calls every
// webhook once more. To avoid this, usher adds its containers with the mount
// that the plugin would add.
const (
	TokenPath         = "/var/run/secrets/kubernetes.io/serviceaccount"
	tokenVolumePrefix = "kube-api-access-"
)

// TokenVolume returns the volume that the plugin mounts in added containers, or
// "" if it does not: the plugin has processed every container of the pod, so a
// container without the mount shows that the token is not mounted.
func (p *Pod) TokenVolume() string {
	if p.Spec.Automount != nil && !*p.Spec.Automount {
		return ""
	}
	at := slices.IndexFunc(p.Spec.Volumes, func(v Volume) bool { return strings.HasPrefix(v.Name, tokenVolumePrefix) })
	if at < 0 {
		return ""
	}
	volume, mounted := p.Spec.Volumes[at].Name, false
	for _, list := range [][]Container{p.Spec.Containers, p.Spec.InitContainers} {
		for _, c := range list {
			at := slices.IndexFunc(c.VolumeMounts, func(m Mount) bool { return m.MountPath == TokenPath })
			if at < 0 {
				return ""
			}
			mounted = mounted || c.VolumeMounts[at].Name == volume
		}
	}
	if !mounted {
		return ""
	}
	return volume
}

// MountsToken reports whether a container mounts something where the token is.
func MountsToken(c *corev1.Container) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == TokenPath })
}

// HoldsToken reports whether a volume of the pod is the one that the plugin
// adds: only the token, the API server's certificates and the namespace.
func (p *Pod) HoldsToken(name string) bool {
	at := slices.IndexFunc(p.Spec.Volumes, func(v Volume) bool { return v.Name == name })
	if at < 0 || !strings.HasPrefix(name, tokenVolumePrefix) {
		return false
	}
	var v corev1.Volume
	if json.Unmarshal(p.Spec.Volumes[at].Raw, &v) != nil || v.Projected == nil {
		return false
	}
	return !slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
		return s.ServiceAccountToken == nil && s.DownwardAPI == nil && (s.ConfigMap == nil || s.ConfigMap.Name != "kube-root-ca.crt")
	})
}
