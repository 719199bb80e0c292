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
	"github.com/usher-dev/usher/injector"
	"github.com/usher-dev/usher/reason"
)

// ProofNamespace is where pods are tried by dry-run, as its ServiceAccount of
// the same name. A
// ValidatingAdmissionPolicy refuses every other pod there, so that the right to
// create pods in it cannot run one (deploy/base/proof.yaml).
const ProofNamespace = "usher-proof"

// proofTimeout bounds the trials of one template; what was not tried is said.
const proofTimeout = 3 * time.Second

// DryRun asks the API server whether it would take a pod.
type DryRun struct {
	Writer client.Writer
}

// An answer is the API server's on one pod.
type answer struct {
	problems []finding.Finding // of built-in validation
	warning  string
}

// Try asks about every trial. Problems are what built-in validation rejects in
// the injected pod and not in the bare one; warnings are what another webhook
// or policy denies, and what was not tried.
func (d *DryRun) Try(ctx context.Context, trials []injector.Trial) (problems []finding.Finding, warnings []string) {
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	const atOnce = 4
	slots := make(chan struct{}, atOnce)
	answers, panics := make([]answer, len(trials)), make([]*contained, len(trials))
	var wait sync.WaitGroup
	for i, trial := range trials {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			panics[i] = contain(func() { answers[i] = d.try(ctx, trial) })
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
			return answer{warning: fmt.Sprintf("could not be tried on a pod of the kind %q, which is denied without the template: %v", trial.Name, bare)}
		}
		var problems []finding.Finding
		for _, cause := range status.Details.Causes {
			problems = append(problems, finding.Denial(reason.TemplateInvalid, cause.Field, "the API server refuses the injected pod: "+cause.Message))
		}
		return answer{problems: problems}
	}
	switch {
	case apierrors.IsNotFound(err):
		return answer{warning: fmt.Sprintf("not tried on the API server: %v (apply deploy/base/proof.yaml)", err)}
	case ctx.Err() != nil:
		return answer{warning: fmt.Sprintf("not tried on the API server within %s", proofTimeout)}
	}
	return answer{warning: fmt.Sprintf("pods that get it are denied by another policy of this cluster: %v", err)}
}

// validation says whether built-in validation rejected the pod. Policies and
// webhooks may deny with the same code: the one names no fields, the other's
// message says what it is.
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

// create sends a pod of the corpus, as it is but for where it goes.
func (d *DryRun) create(ctx context.Context, pod []byte) error {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(pod, &object.Object); err != nil {
		return err
	}
	object.SetNamespace(ProofNamespace)
	object.SetGenerateName(object.GetName() + "-")
	object.SetName("")
	err := errors.Join(
		unstructured.SetNestedField(object.Object, ProofNamespace, "spec", "serviceAccountName"),
		unstructured.SetNestedField(object.Object, false, "spec", "automountServiceAccountToken"),
	)
	if err != nil {
		return err
	}
	return d.Writer.Create(ctx, object, client.DryRunAll)
}
