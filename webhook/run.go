package webhook

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/webhook/handlers"
	"github.com/usher-dev/usher/webhook/registration"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/serving"
	"github.com/usher-dev/usher/webhook/tracing"
	"github.com/usher-dev/usher/webhook/webhookspec"
)

// Run serves until the context ends, and then until all requests are drained.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	o.complete()
	tracer, err := tracing.New(o.Tracing, o.Log)
	if err != nil {
		return err
	}
	defer tracer.Stop()
	m, err := newManager(config, o, tracer)
	if err != nil {
		return err
	}
	election, err := registration.NewElection(m, o.Namespace, o.Pod, o.Log)
	if err != nil {
		return err
	}
	certificates, err := newCertificates(m, o, election.Leads)
	if err != nil {
		return err
	}
	scope, err := o.scope()
	if err != nil {
		return err
	}
	facts, err := cluster.New(ctx, m, scope, o.ProofNamespace, o.Registry, o.Log)
	if err != nil {
		return err
	}
	handling := newHandlers(facts, m, o)
	registrar, err := registration.NewRegistrar(m, election, target(o, certificates.Bundle), declared(handling), facts.Templates.Renew, registration.Names{Configuration: o.ConfigurationName, Owner: o.OwnerClusterRole}, registration.NewMetrics(o.Registry), o.Log)
	if err != nil {
		return err
	}
	facts.OnChange(registrar.Changed)
	start := newStartup(ctx, facts, certificates, registrar, o)
	keep := &lastValid{configuration: facts.Configuration, client: m.GetClient(), namespace: o.Namespace, leads: election.Leads, log: o.Log}
	if err := errors.Join(m.Add(start), m.Add(keep)); err != nil {
		return err
	}
	running, stop, drain := serving.NewDrain(ctx, o.ShutdownDelay)
	defer stop()
	health := &serving.Health{Ready: readiness(drain, start.ready, facts), State: state(certificates, facts, registrar), Profiling: o.Profiling}
	if err := serving.Add(m, listening(o), certificates.GetCertificate, drain.Handler(paths(handling, start.ready, tracer, o)), health); err != nil {
		return err
	}
	return m.Start(running)
}

// newHandlers returns the handlers of all paths of the server.
func newHandlers(facts *cluster.Facts, m manager.Manager, o Options) []handlers.Handler {
	injection := &handlers.Injection{Facts: facts, FailurePolicy: o.InjectionFailurePolicy}
	networks := &handlers.Networks{Facts: facts}
	rules := &handlers.Policies{
		Facts: facts, Mapper: m.GetRESTMapper(),
		Controller: "system:serviceaccount:" + o.Namespace + ":usher-controller", Authenticated: o.ClientCAFile != "", Log: o.Log,
	}
	return []handlers.Handler{
		injection.Pods(), injection.Workloads(), injection.Mandatory(), networks.Pods(), networks.Workloads(),
		(&handlers.TemplateProof{Facts: facts, Log: o.Log}).Handler(), (&handlers.NamespaceLabels{Facts: facts, Log: o.Log}).Handler(),
		(&handlers.Configuration{Facts: facts}).Handler(), rules.Handler(),
	}
}

// declared returns the current declarations of the paths.
func declared(all []handlers.Handler) func() []webhookspec.Path {
	return func() []webhookspec.Path {
		paths := make([]webhookspec.Path, len(all))
		for i, h := range all {
			paths[i] = h.Declared()
		}
		return paths
	}
}

// paths serves all handlers once ready is closed.
func paths(all []handlers.Handler, ready <-chan struct{}, tracer *tracing.Tracer, o Options) http.Handler {
	deciding := make([]review.Handler, len(all))
	for i, h := range all {
		deciding[i] = h.Handler
	}
	return review.NewMux(review.Options{
		Ready: ready, MaxConcurrent: o.MaxConcurrent, Metrics: review.NewMetrics(o.Registry), Tracer: tracer, Log: o.Log,
	}, deciding...)
}
