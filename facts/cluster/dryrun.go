package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector"
)

// DefaultProofNamespace is the namespace for dry runs of pods, as its
// ServiceAccount of the same name. A ValidatingAdmissionPolicy refuses every other
// pod there, so that no user can run one with the right to create pods in it
// (deploy/base/proof).
const DefaultProofNamespace = "usher-proof"

// proofTimeout limits the dry runs of one template; a warning reports untested
// pods.
const proofTimeout = 3 * time.Second

// DryRun asks the API server whether it would accept a pod.
type DryRun struct {
	Writer client.Writer
	// Namespace is where, and the name of the pods' ServiceAccount.
	Namespace string
}

// An answer is the API server's response for one pod.
type answer struct {
	problems []finding.Finding // from built-in validation
	warning  string
}

// Try tests every trial. Problems are what built-in validation rejects in the
// injected pod but not in the bare one; warnings are denials by another webhook
// or policy, and untested pods.
func (d *DryRun) Try(ctx context.Context, trials []injector.Trial) (problems []finding.Finding, warnings []string) {
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	const atOnce = 4
	slots := make(chan struct{}, atOnce)
	answers, panics := make([]answer, len(trials)), make([]*goroutinePanic, len(trials))
	var wait sync.WaitGroup
	for i, trial := range trials {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			panics[i] = recoverGoroutine(func() { answers[i] = d.try(ctx, trial) })
		})
	}
	wait.Wait()
	for _, panicked := range panics {
		panicked.raise()
	}
	for _, v := range answers {
		for _, p := range v.problems {
			if !slices.Contains(problems, p) {
				problems = append(problems, p)
			}
		}
		if v.warning != "" && !slices.Contains(warnings, v.warning) {
			warnings = append(warnings, v.warning)
		}
	}
	return problems, warnings
}

func (d *DryRun) try(ctx context.Context, trial injector.Trial) answer {
	err := d.create(ctx, trial.Injected)
	if err == nil {
		return answer{}
	}
	if status, builtIn := validation(err); builtIn {
		if bare := d.create(ctx, trial.Bare); bare != nil {
			return answer{warning: fmt.Sprintf("could not be tested with a pod of the kind %q, which is denied even without the template: %v", trial.Name, bare)}
		}
		var problems []finding.Finding
		with := ""
		if trial.With != "" {
			with = " with " + trial.With
		}
		for _, cause := range status.Details.Causes {
			problems = append(problems, finding.Denial(reason.TemplateInvalid, cause.Field, "the API server refuses the injected pod"+with+": "+cause.Message))
		}
		return answer{problems: problems}
	}
	switch {
	case apierrors.IsNotFound(err):
		return answer{warning: fmt.Sprintf("not tested against the API server: %v (run kubectl apply -k deploy/base/proof)", err)}
	case ctx.Err() != nil:
		return answer{warning: fmt.Sprintf("not tested against the API server within %s", proofTimeout)}
	}
	return answer{warning: fmt.Sprintf("another policy of this cluster denies pods that get it: %v", err)}
}

// validation reports whether built-in validation rejected the pod. Policies and
// webhooks may deny with the same code: a policy names no fields, and the
// message of a webhook names it.
func validation(err error) (*metav1.Status, bool) {
	var api apierrors.APIStatus
	if !errors.As(err, &api) || !apierrors.IsInvalid(err) {
		return nil, false
	}
	status := api.Status()
	if status.Details == nil || len(status.Details.Causes) == 0 || strings.HasPrefix(status.Message, "admission webhook ") {
		return nil, false
	}
	noField := func(c metav1.StatusCause) bool { return c.Field == "" }
	return &status, !slices.ContainsFunc(status.Details.Causes, noField)
}

// create sends a pod of the corpus unchanged except for its namespace.
func (d *DryRun) create(ctx context.Context, pod []byte) error {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(pod, &object.Object); err != nil {
		return err
	}
	object.SetNamespace(d.Namespace)
	object.SetGenerateName(object.GetName() + "-")
	object.SetName("")
	err := errors.Join(
		unstructured.SetNestedField(object.Object, d.Namespace, "spec", "serviceAccountName"),
		unstructured.SetNestedField(object.Object, false, "spec", "automountServiceAccountToken"),
	)
	if err != nil {
		return err
	}
	return d.Writer.Create(ctx, object, client.DryRunAll)
}
