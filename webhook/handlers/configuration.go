package handlers

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/usher-dev/usher/config"
	"github.com/usher-dev/usher/facts/cluster"
	"github.com/usher-dev/usher/webhook/review"
	"github.com/usher-dev/usher/webhook/webhookspec"
)

// Configuration is the handler of /validate-configuration, which denies an
// invalid configuration of usher.
type Configuration struct{ Facts *cluster.Facts }

// Handler returns the handler. Its entry fails open, so that an admin can apply
// a correction while usher is down.
func (c *Configuration) Handler() Handler {
	const create, update = admissionregistrationv1.Create, admissionregistrationv1.Update
	return Handler{
		Handler:    review.Handler{Path: "/validate-configuration", Kinds: []string{"ConfigMap"}, Decide: c.decide},
		Validating: true,
		Webhooks: fixed(webhookspec.Webhook{
			Name:            "configuration.usher.dev",
			Rules:           []admissionregistrationv1.RuleWithOperations{webhookspec.Rule("", "configmaps", create, update)},
			MatchConditions: []admissionregistrationv1.MatchCondition{webhookspec.Condition("holds-the-configuration", `object.metadata.name == "`+config.ConfigMapName+`"`)},
			OwnNamespace:    true,
			FailurePolicy:   admissionregistrationv1.Ignore,
		}),
	}
}

func (c *Configuration) decide(ctx context.Context, req *review.Request) (*review.Response, error) {
	v, err := c.Facts.Judge(ctx, request(req, 0))
	if err != nil {
		return nil, err
	}
	return render(v), nil
}
