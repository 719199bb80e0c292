package injector

import (
	"github.com/go-json-experiment/json"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/kinds"
)

// sameSource reports whether the pod's volume has the template's source, after
// the API server's defaulting.
func sameSource(typed corev1.Volume, other *podjson.Volume) bool {
	var got corev1.Volume
	// A source that this build does not know is another source.
	if err := json.Unmarshal(other.Raw, &got, json.RejectUnknownMembers(true)); err != nil {
		return false
	}
	want := typed.DeepCopy()
	if want.Image != nil && got.Image != nil && got.Image.PullPolicy == corev1.PullAlways {
		want.Image.PullPolicy = corev1.PullAlways // as AlwaysPullImages sets it
	}
	defaultVolume(want)
	defaultVolume(&got)
	return equality.Semantic.DeepEqual(*want, got)
}

// defaultVolume sets the API server's defaults (pkg/apis/core/v1, defaults.go
// and zz_generated.defaults.go).
func defaultVolume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	// The four kinds of volumes with files have the same default mode.
	mode := func(m **int32) { orDefault(m, new(corev1.ConfigMapVolumeSourceDefaultMode)) }
	if s := v.ConfigMap; s != nil {
		mode(&s.DefaultMode)
	}
	if s := v.Secret; s != nil {
		mode(&s.DefaultMode)
	}
	if s := v.DownwardAPI; s != nil {
		mode(&s.DefaultMode)
		defaultFieldRefs(s.Items)
	}
	if s := v.HostPath; s != nil {
		orDefault(&s.Type, new(corev1.HostPathUnset))
	}
	if s := v.Projected; s != nil {
		mode(&s.DefaultMode)
		for i := range s.Sources {
			if token := s.Sources[i].ServiceAccountToken; token != nil {
				orDefault(&token.ExpirationSeconds, new(int64(60*60)))
			}
			if api := s.Sources[i].DownwardAPI; api != nil {
				defaultFieldRefs(api.Items)
			}
		}
	}
	if s := v.Ephemeral; s != nil && s.VolumeClaimTemplate != nil {
		orDefault(&s.VolumeClaimTemplate.Spec.VolumeMode, new(corev1.PersistentVolumeFilesystem))
	}
	if s := v.Image; s != nil {
		orDefault(&s.PullPolicy, kinds.DefaultPullPolicy(s.Reference))
	}
	if s := v.ISCSI; s != nil {
		orDefault(&s.ISCSIInterface, "default")
	}
	if s := v.RBD; s != nil {
		orDefault(&s.RBDPool, "rbd")
		orDefault(&s.RadosUser, "admin")
		orDefault(&s.Keyring, "/etc/ceph/keyring")
	}
	if s := v.AzureDisk; s != nil {
		orDefault(&s.CachingMode, new(corev1.AzureDataDiskCachingReadWrite))
		orDefault(&s.FSType, new("ext4"))
		orDefault(&s.ReadOnly, new(false))
		orDefault(&s.Kind, new(corev1.AzureSharedBlobDisk))
	}
	if s := v.ScaleIO; s != nil {
		orDefault(&s.StorageMode, "ThinProvisioned")
		orDefault(&s.FSType, "xfs")
	}
}

func orDefault[T comparable](field *T, value T) {
	var none T
	if *field == none {
		*field = value
	}
}

func defaultFieldRefs(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		if ref := items[i].FieldRef; ref != nil && ref.APIVersion == "" {
			ref.APIVersion = "v1"
		}
	}
}
