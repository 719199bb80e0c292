package member

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/usher-dev/usher/api/wellknown"
	"github.com/usher-dev/usher/etcd"
)

// revise writes the annotations that say what a pod of that version is created
// from.
func (d *Desired) revise(annotations map[string]string, version string) {
	base, additions := etcd.SplitRevision(d.PodRevision)
	annotations[wellknown.AnnotationEtcdPodRevision] = base
	setOrDelete(annotations, wellknown.AnnotationEtcdPodAdditions, additions)
	setOrDelete(annotations, wellknown.AnnotationEtcdImageDigest, etcd.ImageDigest(&d.Cluster.Spec, version))
}

func setOrDelete(annotations map[string]string, key, value string) {
	delete(annotations, key)
	if value != "" {
		annotations[key] = value
	}
}

// RevisionOf returns what a pod was created from. One whose resources are being
// changed is unlike any spec, because its hash says nothing about them.
func RevisionOf(p *corev1.Pod) string {
	a := p.Annotations
	revision := etcd.JoinRevision(a[wellknown.AnnotationEtcdPodRevision], a[wellknown.AnnotationEtcdPodAdditions], a[wellknown.AnnotationEtcdImageDigest])
	if r := ResizeOf(p); r.Revision != "" && r.Refused == "" {
		revision += "~"
	}
	return revision
}

// SetImage makes a pod run the image of a version.
func (d *Desired) SetImage(p *corev1.Pod, version string) {
	p.Annotations[wellknown.AnnotationEtcdVersion] = version
	setOrDelete(p.Annotations, wellknown.AnnotationEtcdImageDigest, etcd.ImageDigest(&d.Cluster.Spec, version))
	for i := range p.Spec.Containers {
		if p.Spec.Containers[i].Name == ContainerName {
			p.Spec.Containers[i].Image = d.Image(version)
		}
	}
}

// HasImage reports whether a pod was told to run the version, by the digest in
// the manifest.
func (d *Desired) HasImage(p *corev1.Pod, version string) bool {
	return p.Annotations[wellknown.AnnotationEtcdVersion] == version &&
		p.Annotations[wellknown.AnnotationEtcdImageDigest] == etcd.ImageDigest(&d.Cluster.Spec, version)
}
