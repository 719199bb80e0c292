package webhook_test

import (
	"testing"

	"github.com/usher-dev/usher/webhook/webhooktest"
)

func TestMain(m *testing.M) { webhooktest.Main(m) }
