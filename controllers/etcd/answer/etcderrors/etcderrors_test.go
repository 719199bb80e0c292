package etcderrors_test

import (
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/usher-dev/usher/controllers/etcd/answer"
	"github.com/usher-dev/usher/controllers/etcd/answer/etcderrors"
)

const secret = "token=hunter2"

func TestExplain_UsesNoWordOfTheServer(t *testing.T) {
	for code := codes.Canceled; code <= codes.Unauthenticated+5; code++ {
		if err := etcderrors.Explain(status.Error(code, secret)); strings.Contains(err.Error(), secret) || answer.Said(err) == "" {
			t.Errorf("code %s is %v; the log says %s", code, err, answer.Said(err))
		}
	}
	if got := etcderrors.Explain(rpctypes.ErrGRPCUserEmpty).Error(); got != rpctypes.ErrUserEmpty.Error() {
		t.Errorf("an error that etcd defines is %q", got)
	}
	if got := fmt.Sprint(etcderrors.Reported([]string{secret, "memberID:1 alarm:NOSPACE " + secret, secret})); got != "[it reports an error alarm NOSPACE: its database is full]" {
		t.Errorf("the member's errors are %s", got)
	}
}
