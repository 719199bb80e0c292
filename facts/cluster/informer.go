package cluster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
)

// NewInformer returns an informer of a cache that Trim limits. Its first list
// never holds more than a page of whole objects: an API server that streams the
// list (WatchList) sends them one by one, and of any other the informer
// requests pages, which it trims as they come.
func NewInformer(lw toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	whole := toolscache.ToListerWatcherWithContext(lw)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return listTrimmed(ctx, whole, options)
		},
		WatchFuncWithContext: whole.WatchWithContext,
	}, object, resync, indexers)
}

// listTrimmed lists all objects and trims them page by page. It asks for the
// newest version: an API server that may answer from its cache, with any
// version, ignores the limit.
func listTrimmed(ctx context.Context, whole toolscache.ListerWithContext, options metav1.ListOptions) (*metav1.List, error) {
	options.ResourceVersion, options.ResourceVersionMatch, options.Limit, options.Continue = "", "", pageSize, ""
	all := &metav1.List{}
	for {
		page, err := whole.ListWithContext(ctx, options)
		if err != nil {
			return nil, err
		}
		list, err := meta.ListAccessor(page)
		if err != nil {
			return nil, err
		}
		if err := meta.EachListItem(page, func(item runtime.Object) error {
			kept, err := Trim(item)
			if err != nil {
				return err
			}
			all.Items = append(all.Items, runtime.RawExtension{Object: kept.(runtime.Object)})
			return nil
		}); err != nil {
			return nil, err
		}
		all.ResourceVersion = list.GetResourceVersion()
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}
