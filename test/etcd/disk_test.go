//go:build e2e

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	etcdv1beta2 "github.com/usher-dev/usher/api/etcd/v1beta2"
	"github.com/usher-dev/usher/test/cluster/node"
)

// diskSize has room for etcd's preallocated log, and the ballast of many
// faults.
const diskSize = "384Mi"

// onDisks returns a cluster whose members' volumes are separate file systems,
// so that one can be full.
func (s *scene) onDisks(size int) etcdv1beta2.ClusterSpec {
	s.Helper()
	if !shared.Owned() {
		s.Fatal("the disks of another cluster cannot be filled: run this test on the machine's node")
	}
	class := &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: "disks-" + s.namespace},
		Provisioner:       "kubernetes.io/no-provisioner",
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	s.prepare(class)
	for i := range size {
		s.prepare(s.disk(class.Name, fmt.Sprintf("%s-%d", class.Name, i)))
	}
	spec := onClaims(size)
	spec.Pod.PersistentVolumeClaimSpec.StorageClassName = &class.Name
	return spec
}

// prepare creates cluster-scoped objects, which are deleted with the test.
func (s *scene) prepare(o client.Object) {
	s.Helper()
	s.must(shared.client.Create(s.Context(), o))
	s.Cleanup(func() { _ = shared.client.Delete(s.Context(), o) })
}

// disk mounts a small file system, and creates a volume for it.
func (s *scene) disk(class, name string) *corev1.PersistentVolume {
	s.Helper()
	folder := filepath.Join(node.Folder, "volumes", name)
	s.must(os.MkdirAll(folder, 0o777))
	size := resource.MustParse(diskSize)
	s.must(unix.Mount("etcd", folder, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0777", size.Value())))
	s.Cleanup(func() { s.must(unix.Unmount(folder, unix.MNT_DETACH)) })
	here := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
		Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node.NodeName},
	}}}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:              class,
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: size},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: folder}},
			NodeAffinity:                  &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{here}}},
		},
	}
}

// diskFull fills the file system of a member's claim, so that etcd ends as soon
// as it needs another page for a write.
func (s *scene) diskFull(name string) broken {
	s.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	s.must(shared.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, claim))
	file := filepath.Join(node.Folder, "volumes", claim.Spec.VolumeName, "full")
	before := s.restarts(name)
	s.must(fill(file))
	return broken{
		felt: func() bool {
			if s.restarts(name) == before {
				s.ballast()
				return false
			}
			return true
		},
		heal: func() { s.must(os.Remove(file)) },
	}
}

// ballast makes the members need space. It may be refused.
func (s *scene) ballast() {
	s.Helper()
	c, err := s.connect(s.Context())
	s.must(err)
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	_, _ = c.Put(ctx, "ballast", strings.Repeat("x", 256<<10))
}

// fill creates a file that leaves no space.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if errors.Is(err, unix.ENOSPC) {
		return nil
	}
	return fmt.Errorf("filling the disk of %s: %w", path, err)
}
