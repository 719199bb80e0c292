package fairqueue_test

import (
	"testing"

	"github.com/usher-dev/usher/controllers/etcd/fairqueue"
)

func TestTurns_NamespaceAtItsLimit_LeavesOthersTheirs(t *testing.T) {
	all := fairqueue.New(10, 2)
	first, ok := all.Take("a")
	if !ok {
		t.Fatal("the first turn of a is refused")
	}
	if _, ok := all.Take("a"); !ok {
		t.Fatal("the second turn of a is refused")
	}
	if _, ok := all.Take("a"); ok {
		t.Error("a has a third turn")
	}
	if _, ok := all.Take("b"); !ok {
		t.Error("namespace b is refused a turn while namespace a is at its limit")
	}
	first()
	first() // a second end must not release another's turn
	if _, ok := all.Take("a"); !ok {
		t.Error("a turn that ended is not given again")
	}
	if _, ok := all.Take("a"); ok {
		t.Error("ending a turn twice gave two")
	}
}

func TestTurns_AtTheLimitOfAll_AreRefusedToEveryNamespace(t *testing.T) {
	all := fairqueue.New(2, 2)
	first, _ := all.Take("a")
	if _, ok := all.Take("b"); !ok {
		t.Fatal("the second turn is refused")
	}
	if _, ok := all.Take("c"); ok {
		t.Error("there is a third turn")
	}
	first()
	if _, ok := all.Take("c"); !ok {
		t.Error("a turn that ended is not given again")
	}
}
