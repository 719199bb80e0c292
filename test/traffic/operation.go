package traffic

import (
	"context"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/usher-dev/usher/test/history"
)

// perform sends an operation to etcd. Whatever the error, the operation may
// have taken effect.
func perform(ctx context.Context, kv clientv3.KV, o history.Operation) (*history.Answer, error) {
	switch o.Kind {
	case history.Put:
		done, err := kv.Put(ctx, o.Key, o.Value, clientv3.WithPrevKV())
		if err != nil {
			return nil, err
		}
		return answer(done.Header, true, done.PrevKv), nil
	case history.Delete:
		done, err := kv.Delete(ctx, o.Key, clientv3.WithPrevKV())
		if err != nil {
			return nil, err
		}
		return answer(done.Header, done.Deleted > 0, done.PrevKvs...), nil
	case history.Swap:
		done, err := kv.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(o.Key), "=", o.Expected)).
			Then(clientv3.OpPut(o.Key, o.Value, clientv3.WithPrevKV())).
			Else(clientv3.OpGet(o.Key)).Commit()
		if err != nil {
			return nil, err
		}
		if done.Succeeded {
			return answer(done.Header, true, done.Responses[0].GetResponsePut().PrevKv), nil
		}
		return answer(done.Header, false, done.Responses[0].GetResponseRange().Kvs...), nil
	default:
		found, err := kv.Get(ctx, o.Key)
		if err != nil {
			return nil, err
		}
		return answer(found.Header, false, found.Kvs...), nil
	}
}

func answer(header *etcdserverpb.ResponseHeader, wrote bool, found ...*mvccpb.KeyValue) *history.Answer {
	a := &history.Answer{Cluster: header.ClusterId, Revision: header.Revision, Wrote: wrote}
	if len(found) > 0 && found[0] != nil {
		a.Found = state(found[0])
	}
	return a
}

func state(kv *mvccpb.KeyValue) history.State {
	return history.State{Value: string(kv.Value), Version: kv.Version, Created: kv.CreateRevision, Modified: kv.ModRevision}
}

func event(e *clientv3.Event) history.Event {
	return history.Event{Key: string(e.Kv.Key), Deleted: e.Type == clientv3.EventTypeDelete, State: state(e.Kv)}
}
