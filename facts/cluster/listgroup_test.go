package cluster

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

func TestRequestsThatAskAtOnceShareAPageReadAfterTheyAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := listGroup{timeout: ListTimeout}
		begun, release := 0, make(chan struct{})
		list := func(context.Context) listResult {
			begun++
			n := begun
			<-release
			return listResult{unseen: strconv.Itoa(n)}
		}
		ask := func() string {
			return c.do(t.Context(), listKey{"Service", "default"}, list).wait(t.Context(), "Service").unseen
		}
		var group sync.WaitGroup
		answers := make([]string, 4)
		group.Go(func() { answers[0] = ask() })
		synctest.Wait() // the first list is running
		for i := 1; i < len(answers); i++ {
			group.Go(func() { answers[i] = ask() })
		}
		synctest.Wait()
		if begun != 1 {
			t.Errorf("%d are read at once", begun)
		}
		release <- struct{}{}
		synctest.Wait()
		release <- struct{}{}
		group.Wait()
		if answers[0] != "1" || answers[1] != "2" || answers[2] != "2" || answers[3] != "2" {
			t.Errorf("answers of readings %q", answers)
		}
		if len(c.next)+len(c.running) != 0 {
			t.Errorf("%d readings are kept", len(c.next)+len(c.running))
		}
	})
}

func TestAPageThatDoesNotComeIsSaidToBeUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := listGroup{timeout: ListTimeout}
		got := c.do(t.Context(), listKey{"Service", "default"}, func(ctx context.Context) listResult {
			<-ctx.Done()
			return unread("Service")
		}).wait(t.Context(), "Service")
		if got.unseen == "" || len(got.found) > 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestCoalescer_APanicReachesEveryRequestAndEndsNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := listGroup{timeout: ListTimeout}
		release := make(chan struct{})
		key := listKey{"Service", "default"}
		panicking := func(context.Context) listResult {
			<-release
			panic("oh")
		}
		var group sync.WaitGroup
		panics := make([]any, 3)
		for i := range panics {
			group.Go(func() {
				defer func() { panics[i] = recover() }()
				c.do(t.Context(), key, panicking).wait(t.Context(), "Service")
			})
		}
		synctest.Wait()
		close(release)
		group.Wait()
		for i, v := range panics {
			if text, _ := v.(string); !strings.HasPrefix(text, "oh, in a goroutine of the request:") {
				t.Errorf("request %d panicked with %v", i, v)
			}
		}
		got := c.do(t.Context(), key, func(context.Context) listResult { return listResult{unseen: "fine"} }).wait(t.Context(), "Service")
		if got.unseen != "fine" || len(c.next)+len(c.running) != 0 {
			t.Errorf("the next list is %+v, and %d calls are kept", got, len(c.next)+len(c.running))
		}
	})
}
