package review

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestADeadlineEndsAsTheStandardOnesDo(t *testing.T) {
	stopped := errors.New("the client is gone")
	for name, tc := range map[string]struct {
		parent time.Duration // its own deadline, 0 for none
		cancel bool          // the parent, after a second
		waits  bool          // waits from the beginning
		after  time.Duration
		want   error
	}{
		"before its time nothing has ended":                     {after: 3999 * time.Millisecond},
		"before its time nothing has ended for who waits":       {waits: true, after: 3999 * time.Millisecond},
		"at its time it has ended":                              {after: 4 * time.Second, want: context.DeadlineExceeded},
		"at its time it has ended for who waits":                {waits: true, after: 4 * time.Second, want: context.DeadlineExceeded},
		"it ends with a parent that ends sooner":                {parent: 2 * time.Second, after: 2 * time.Second, want: context.DeadlineExceeded},
		"it ends with a parent that is cancelled":               {cancel: true, after: 2 * time.Second, want: context.Canceled},
		"it ends with a parent that is cancelled for who waits": {cancel: true, waits: true, after: 2 * time.Second, want: context.Canceled},
		"what ended it stays though its own time passes":        {cancel: true, waits: true, after: time.Minute, want: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tc.parent > 0 {
					var stop context.CancelFunc
					parent, stop = context.WithTimeout(parent, tc.parent)
					defer stop()
				}
				ctx := within(parent, 4*time.Second)
				defer ctx.stop()
				child, stop := context.Context(ctx), func() {}
				if tc.waits {
					child, stop = context.WithCancel(ctx)
				}
				defer stop()
				if tc.cancel {
					time.AfterFunc(time.Second, func() { cancel(stopped) })
				}
				time.Sleep(tc.after) // with synctest's clock, which takes no real time
				synctest.Wait()
				for range 2 {
					if got := ctx.Err(); !errors.Is(got, tc.want) {
						t.Errorf("it ended with %v, want %v", got, tc.want)
					}
				}
				if got := child.Err(); !errors.Is(got, tc.want) {
					t.Errorf("what was made of it ended with %v, want %v", got, tc.want)
				}
				select {
				case <-ctx.Done():
					if tc.want == nil {
						t.Error("it is done")
					}
				default:
					if tc.want != nil {
						t.Error("it is not done")
					}
				}
			})
		})
	}
}

func TestADeadlineIsTheSoonerOfItsOwnAndTheParents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for parent, want := range map[time.Duration]time.Duration{time.Second: time.Second, time.Minute: 4 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), parent)
			d := within(ctx, 4*time.Second)
			if at, ok := d.Deadline(); !ok || time.Until(at) != want {
				t.Errorf("it is in %s, want %s", time.Until(at), want)
			}
			d.stop()
			cancel()
		}
	})
}
