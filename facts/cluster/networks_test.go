package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errNoNetworks = &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "samplecrd.k8s.io", Kind: "Network"}}

// withoutNetworks is a cluster without the kind.
type withoutNetworks struct {
	cache.Cache
	asked int
}

func (w *withoutNetworks) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	w.asked++
	return nil, errNoNetworks
}

func (w *withoutNetworks) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errNoNetworks
}

func TestNetworks_WithoutTheKindNothingIsLoggedAndNoneExists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, lines := &withoutNetworks{}, 0
		n := &Networks{Reader: c, Related: &RelatedCache{}}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		n.Follow(ctx, c, funcr.New(func(string, string) { lines++ }, funcr.Options{Verbosity: 10}))
		if c.asked < 30 {
			t.Errorf("the cluster was asked for the kind %d times in an hour", c.asked)
		}
		if lines > 0 {
			t.Errorf("%d lines were logged", lines)
		}
		if _, ok := n.Cached(t.Context(), "default", []string{"a"}, nil); ok {
			t.Error("a cache that does not exist answered")
		}
		found, err := n.Fresh(t.Context(), "default", []string{"a"}, []byte("{}"))
		if err != nil || len(found) > 0 {
			t.Errorf("found %v: %v", found, err)
		}
	})
}
