package cluster

import (
	"context"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/usher-dev/usher/controllers/etcd/answer"
	"github.com/usher-dev/usher/controllers/etcd/answer/etcderrors"
)

// silent says in usher's words why a member does not answer. What the member
// itself said is for the log.
func silent(ctx context.Context, member string, err error) string {
	err = etcderrors.Explain(err)
	log.FromContext(ctx).V(1).Info("a member does not answer", "member", member, "answer", answer.Said(err))
	return "does not answer: " + err.Error()
}

// ailing says in usher's words what a member reports of itself.
func ailing(reported []string) string { return strings.Join(etcderrors.Reported(reported), "; ") }
