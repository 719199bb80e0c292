//go:build e2e

package process_test

import (
	"context"
	"strings"
	"testing"
	"time"

	alerts "github.com/usher-dev/usher/test/prometheus"
)

// apiServer returns a target with the real API server's metrics of webhook
// calls.
func apiServer() alerts.Target {
	return alerts.Target{Job: "apiserver", Instance: "apiserver", Get: func(ctx context.Context) (string, error) {
		text, err := shared.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		var kept []string
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "apiserver_admission_webhook_") {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, ""), err
	}}
}

// TestAnAPIServerThatDoesNotReachUsherIsAlertedOn blocks the port of a running
// replica, and then ends the replica.
func TestAnAPIServerThatDoesNotReachUsherIsAlertedOn(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 1)
	p := s.monitored(t)
	p.Targets = append(p.Targets, apiServer())
	injected := func() { _, _ = create(t.Context()) }
	// Earlier counts must not matter to Prometheus.
	p.Pass(5*time.Minute, injected)
	p.Quiet("UsherFailsOpen", "UsherUnreachable")
	p.Pass(15*time.Minute, injected)
	p.Quiet("UsherFailsOpen", "UsherUnreachable")
	s.turn(cut)
	bare := func() {
		if got, err := create(t.Context()); err != nil || got != "app" {
			t.Errorf("a pod that asks: %q, %v; want it without the sidecar", got, err)
		}
	}
	// Both alerts fire, whether or not it is the API server's first failure.
	bare()
	p.Pass(2 * time.Minute)
	p.Fires("UsherFailsOpen")
	p.Pass(8*time.Minute, bare)
	for _, name := range []string{"UsherFailsOpen", "UsherUnreachable"} {
		p.Fires(name, "name", "annotated-pods.inject.usher.dev")
	}
	s.turn(open)
	p.Pass(20*time.Minute, injected)
	p.Quiet("UsherFailsOpen", "UsherUnreachable")
	s.replicas[0].kill()
	p.Pass(11*time.Minute, bare)
	p.Fires("UsherFailsOpen")
	p.Fires("UsherDown")
	p.Quiet("UsherUnreachable") // nothing is there that could be reached
	s.scale(t, 1)
	until(t, "pods are injected again", func() bool { got, err := create(t.Context()); return err == nil && got == "app side" })
	p.Targets[0] = s.monitored(t).Targets[0]
	for range 10 {
		p.Pass(time.Minute, injected)
		p.Quiet("UsherUnreachable") // what failed before they came
	}
}

// TestAnAPIServerThatRefusesForUsherIsAlertedOn is the same with the
// failurePolicy Fail.
func TestAnAPIServerThatRefusesForUsherIsAlertedOn(t *testing.T) {
	s := newService(t, shared.plane.Config.Host, 1)
	deploy := enforcingNamespace(t)
	until(t, "the namespace is open while usher answers", func() bool { return deploy() == nil })
	p := s.monitored(t)
	p.Targets = append(p.Targets, apiServer())
	p.Pass(20 * time.Minute)
	p.Quiet("UsherUnreachable")
	s.turn(cut)
	p.Pass(8*time.Minute, func() {
		if err := deploy(); err == nil {
			t.Error("the Deployment was admitted")
		}
	})
	p.Fires("UsherUnreachable", "name", "enforced.policy.usher.dev")
	p.Quiet("UsherFailsOpen")
}
