package fairqueue

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestAnErrorIsTriedAgainWithinTenSeconds(t *testing.T) {
	retries, after := Retries(), time.Duration(0)
	for range 100 {
		after = retries.When(reconcile.Request{})
	}
	if after > 10*time.Second {
		t.Errorf("after 100 errors in a row the next try is after %s", after)
	}
}
