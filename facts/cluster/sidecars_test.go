package cluster_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	facts "github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/webhook/webhooktest"
)

// serverVersion answers like a server of another version.
type serverVersion string

func (v serverVersion) ServerVersion() (*version.Info, error) {
	if v == "" {
		return nil, errors.New("not now")
	}
	return &version.Info{GitVersion: string(v)}, nil
}

func TestSidecars(t *testing.T) {
	c := webhooktest.Started(t)
	reader, err := client.New(c.Plane.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		server   serverVersion
		kubelets []string
		want     bool
	}{
		"a server of 1.32 supports no kubelet without them":   {server: "v1.32.0", kubelets: []string{"v1.28.0"}, want: true},
		"a later one neither":                                 {server: "v1.36.3", want: true},
		"a vendor's version is read":                          {server: "v1.33.4-eks-1-30-8", want: true},
		"a release candidate is of its minor":                 {server: "v1.32.0-rc.1", want: true},
		"before it, every kubelet of 1.29 runs them":          {server: "v1.31.5+k3s1", kubelets: []string{"v1.29.0", "v1.31.5+k3s1", "v1.30.2-gke.1"}, want: true},
		"before it, one older kubelet runs none":              {server: "v1.31.0", kubelets: []string{"v1.31.0", "v1.28.15"}},
		"before it, a kubelet that does not say may run none": {server: "v1.31.0", kubelets: []string{"v1.31.0", ""}},
		"before it, a cluster without nodes is asked again":   {server: "v1.31.0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, kubelet := range tc.kubelets {
				node(t, c, kubelet)
			}
			s := &facts.Sidecars{Discovery: tc.server, Reader: reader, Log: logr.Discard()}
			if s.Available() {
				t.Error("available before it was looked")
			}
			if err := s.Update(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s.Available() != tc.want {
				t.Errorf("available %v, want %v", s.Available(), tc.want)
			}
			// If usher cannot read the version now, the last result stays.
			s.Discovery = serverVersion("")
			if err := s.Update(t.Context()); err == nil || s.Available() != tc.want {
				t.Errorf("available %v after the error %v, want %v", s.Available(), err, tc.want)
			}
		})
	}
}

// node creates a node for one test.
func node(t *testing.T, c *webhooktest.Cluster, kubelet string) {
	t.Helper()
	node, err := c.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CoreV1().Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{}) })
	node.Status.NodeInfo.KubeletVersion = kubelet
	if _, err := c.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
