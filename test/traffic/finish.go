package traffic

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/usher-dev/usher/test/history"
)

// Watches and members may take catchUp to reach the last change, plus
// perOperation for each operation: etcd sends a watch that starts in the past a
// few thousand changes a second.
const (
	catchUp      = 20 * time.Second
	perOperation = 2 * time.Millisecond
)

// Finish stops the clients, reads what every member has stored, and returns the
// history. Members connects to all members that serve clients, each with an
// endpoint of its own.
func (t *Traffic) Finish(ctx context.Context, members Connect) (history.History, error) {
	t.stop()
	t.ended.Wait()
	defer t.Stop()
	h := history.History{Began: t.began, Ended: time.Since(t.start)}
	last, err := t.last(ctx)
	if err != nil {
		return h, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.finishTimeout())
	defer cancel()
	var all sync.WaitGroup
	h.Watches = make([]history.Events, len(t.watches))
	for i, w := range t.watches {
		all.Go(func() { h.Watches[i] = w.until(ctx, last) })
	}
	h.Logs, err = t.logs(ctx, members, last)
	all.Wait()
	h.Operations = slices.Clone(t.operations)
	return h, err
}

func (t *Traffic) finishTimeout() time.Duration {
	return catchUp + time.Duration(len(t.operations))*perOperation
}

// last writes the last change, and returns its revision.
func (t *Traffic) last(ctx context.Context) (int64, error) {
	c := connection{connect: t.connect}
	defer c.drop()
	for n := 0; ; n++ {
		err := t.do(ctx, &c, history.Operation{Client: clients, Kind: history.Put, Key: t.prefix + "end", Value: fmt.Sprintf("end-%d", n)})
		if err == nil {
			return t.operations[len(t.operations)-1].Answer.Revision, nil
		}
		if ctx.Err() != nil {
			return 0, fmt.Errorf("the cluster acknowledges no write at the end: %w", err)
		}
	}
}

// logs reads what every member has stored, up to the last change. Members that
// do not answer may have been removed, so it reconnects until all answer.
func (t *Traffic) logs(ctx context.Context, members Connect, last int64) ([]history.Events, error) {
	c := connection{connect: members}
	defer c.drop()
	for {
		client, err := c.get(ctx)
		if err != nil {
			return nil, fmt.Errorf("connecting to the members: %w", err)
		}
		endpoints := client.Endpoints()
		logs := make([]history.Events, len(endpoints))
		var all sync.WaitGroup
		for i, endpoint := range endpoints {
			all.Go(func() { logs[i] = t.log(ctx, members, endpoint, last) })
		}
		all.Wait()
		incomplete := slices.ContainsFunc(logs, func(l history.Events) bool { return l.Incomplete != "" })
		if !incomplete || ctx.Err() != nil {
			return logs, nil
		}
		c.drop()
	}
}

// log reads what one member has stored.
func (t *Traffic) log(ctx context.Context, members Connect, endpoint string, last int64) history.Events {
	l := history.Events{Source: endpoint}
	ctx, cancel := context.WithTimeout(ctx, t.finishTimeout()/3)
	defer cancel()
	client, err := members(ctx)
	if err != nil {
		l.Incomplete = err.Error()
		return l
	}
	defer func() { _ = client.Close() }()
	client.SetEndpoints(endpoint)
	for response := range client.Watch(ctx, t.prefix, clientv3.WithPrefix(), clientv3.WithRev(t.first+1)) {
		if err := response.Err(); err != nil {
			l.Incomplete = err.Error()
			return l
		}
		for _, e := range response.Events {
			l.Events = append(l.Events, event(e))
			if e.Kv.ModRevision >= last {
				return l
			}
		}
	}
	l.Incomplete = fmt.Sprintf("the last change, at revision %d, did not arrive in time", last)
	return l
}
