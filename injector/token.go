package injector

import (
	"bytes"
	"slices"
	"strings"

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

// unwritable is the end of a list that the API server may write a mount to, and
// usher does not.
const unwritable = -1

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

// withToken returns the container, as raw has it, with the token of that volume
// mounted, unless there is none or it has something else in its place.
func (c *container) withToken(raw jsontext.Value, volume string) jsontext.Value {
	if volume == "" || c.mounts == unwritable || slices.ContainsFunc(c.typed.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == tokenPath }) {
		return raw
	}
	before, after := `,"volumeMounts":[`, "]"
	at := len(raw) - 1
	if c.mounts > 0 {
		before, after, at = ",", "", c.mounts
	}
	return slices.Concat(raw[:at], jsontext.Value(before+`{"mountPath":"`+tokenPath+`","name":`), quoted(volume), jsontext.Value(`,"readOnly":true}`+after), raw[at:])
}

// endOfMounts returns where the list volumeMounts of a container ends, before
// its bracket: 0 where it has none, and unwritable where it is written and empty.
func endOfMounts(raw jsontext.Value) int {
	decoder := jsontext.NewDecoder(bytes.NewReader(raw))
	_, _ = decoder.ReadToken() // a template's container is an object
	for decoder.PeekKind() == '"' {
		if name, err := decoder.ReadToken(); err != nil || name.String() != "volumeMounts" {
			_ = decoder.SkipValue()
			continue
		}
		list, err := decoder.ReadValue()
		if err != nil || list.Kind() != '[' || len(bytes.TrimSpace(list[1:len(list)-1])) == 0 {
			return unwritable
		}
		return int(decoder.InputOffset()) - 1
	}
	return 0
}
