package injector

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
)

// The API server's admission plugin ServiceAccount mounts the pod's token in
// every container, at tokenPath from a volume of this prefix. It runs before
// webhooks, and again after one has added a container, which it gives the mount,
// too; and because that changes the pod, every webhook is then asked once more.
// So usher adds its containers with the mount that they would get.
const (
	tokenPath         = "/var/run/secrets/kubernetes.io/serviceaccount"
	tokenVolumePrefix = "kube-api-access-"
)

// tokenVolume returns the volume that the plugin mounts in what is added, or ""
// where it will not: it has seen to every container of the pod, so one without
// the mount tells that the token is not to be mounted.
func (p *pod) tokenVolume() string {
	if p.Spec.Automount != nil && !*p.Spec.Automount {
		return ""
	}
	at := slices.IndexFunc(p.Spec.Volumes, func(v podVolume) bool { return strings.HasPrefix(v.Name, tokenVolumePrefix) })
	if at < 0 {
		return ""
	}
	volume, mounted := p.Spec.Volumes[at].Name, false
	for _, list := range [][]podContainer{p.Spec.Containers, p.Spec.InitContainers} {
		for _, c := range list {
			at := slices.IndexFunc(c.VolumeMounts, func(m podMount) bool { return m.MountPath == tokenPath })
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

// mountToken mounts the token in a container that was just added to a list, at
// an index, unless the container has something else in its place.
func (m *merge) mountToken(list string, index int, c *container) {
	if m.token == "" || mountsToken(&c.typed) {
		return
	}
	mount := slices.Concat(jsontext.Value(`{"mountPath":"`+tokenPath+`","name":`), quoted(m.token), jsontext.Value(`,"readOnly":true}`))
	path := "/spec/" + list + "/" + strconv.Itoa(index) + "/volumeMounts"
	if len(c.typed.VolumeMounts) == 0 { // absent, null or an empty list
		m.patch = append(m.patch, Operation{"add", path, slices.Concat(jsontext.Value("["), mount, jsontext.Value("]"))})
		return
	}
	m.patch = append(m.patch, Operation{"add", path + "/-", mount})
}

func mountsToken(c *corev1.Container) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == tokenPath })
}

// holdsToken reports whether a volume of the pod is what the plugin adds: the
// token, the certificates of the API server and the namespace, and nothing else.
func (p *pod) holdsToken(name string) bool {
	at := slices.IndexFunc(p.Spec.Volumes, func(v podVolume) bool { return v.Name == name })
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
