package webhook

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
)

func TestRequestsThatAskAtOnceShareAPageReadAfterTheyAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pages
		begun, release := 0, make(chan struct{})
		list := func(context.Context) page {
			begun++
			n := begun
			<-release
			return page{unseen: strconv.Itoa(n)}
		}
		ask := func() string {
			return p.join(t.Context(), place{"Service", "default"}, list).wait(t.Context(), "Service").unseen
		}
		var group sync.WaitGroup
		answers := make([]string, 4)
		group.Go(func() { answers[0] = ask() })
		synctest.Wait() // the first is being read
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
		if len(p.next)+len(p.busy) != 0 {
			t.Errorf("%d readings are kept", len(p.next)+len(p.busy))
		}
	})
}

func TestAPageThatDoesNotComeIsSaidToBeUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pages
		got := p.join(t.Context(), place{"Service", "default"}, func(ctx context.Context) page {
			<-ctx.Done()
			return unread("Service")
		}).wait(t.Context(), "Service")
		if got.unseen == "" || len(got.found) > 0 {
			t.Errorf("got %+v", got)
		}
	})
}
