package verdict

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/usher-dev/usher/injector/podjson"
	"github.com/usher-dev/usher/kinds"
	"github.com/usher-dev/usher/verdict/limitrange"
)

// podSecurity evaluates the Pod Security Standards.
var podSecurity = sync.OnceValues(func() (policy.Evaluator, error) { return policy.NewEvaluator(policy.DefaultChecks(), nil) })

// privileged is the level that Pod Security enforces by default. An
// administrator may have configured another default, which usher cannot read.
var privileged = api.Policy{Enforce: api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}}

// predict warns if the API server will refuse the injected pods because of the
// namespace's Pod Security level or its LimitRanges. The workload is admitted
// all the same, but its pods are never created. If the object is a pod, the API
// server refuses it directly. An explanation also predicts what becomes of pods
// that get nothing.
func (j *judging) predict(patch podjson.Patch) error {
	f := j.facts
	explains := f.Explain && j.step(Evaluate)
	workload := j.step(PropagateOptIn) && kinds.Find(j.object.APIVersion, j.object.Kind).Is(kinds.PropagatesOptIn)
	if !explains && (!workload && (!j.pod() || !f.Explain && !f.Verbose && f.Validator == nil) || len(patch) == 0) {
		return nil
	}
	enforced, errs := api.PolicyToEvaluate(f.NamespaceLabels, privileged)
	restricts := len(errs) == 0 && enforced.Enforce.Level != api.LevelPrivileged
	ranges := j.limitRanges()
	if !restricts && len(ranges) == 0 {
		return nil
	}
	before, err := podTemplateOf(j.object.Kind, j.object.JSON)
	if err != nil {
		return nil // the API server refuses the object for that
	}
	injected, err := patch.Apply(j.object.JSON)
	if err != nil {
		return err
	}
	after, err := podTemplateOf(j.object.Kind, injected)
	if err != nil {
		return nil
	}
	var texts []string
	if restricts {
		text, err := refusedBySecurity(enforced.Enforce, before, after, len(patch) > 0)
		if err != nil {
			return err
		}
		texts = append(texts, text...)
	}
	without := map[string]bool{}
	for _, why := range limitrange.Refused(&before.Spec, ranges) {
		without[why] = true
	}
	for _, why := range limitrange.Refused(&after.Spec, ranges) {
		when := " after injection"
		switch {
		case len(patch) == 0:
			when = ""
		case without[why]:
			when = ", with and without injection"
		}
		texts = append(texts, "the pods will be refused"+when+": "+why)
	}
	const most = 5
	if len(texts) > most {
		texts = append(texts[:most], fmt.Sprintf("and %d more reasons", len(texts)-most))
	}
	known := len(j.Findings)
	j.warnings(texts)
	for i := range j.Findings[known:] {
		j.Findings[known+i].Predicted = true
	}
	return nil
}

// limitRanges are those of the object's namespace, as far as the source can see
// them: what it cannot read only costs a warning.
func (j *judging) limitRanges() []corev1.LimitRange {
	if j.facts.Lister == nil {
		return nil
	}
	var ranges []corev1.LimitRange
	found, _ := j.facts.Lister.List("LimitRange", j.object.Namespace)
	for _, o := range found {
		if limits, ok := o.Typed.(*corev1.LimitRange); ok {
			ranges = append(ranges, *limits)
		}
	}
	return ranges
}

// refusedBySecurity explains why Pod Security refuses the pods. injected is true
// if injection changes them.
func refusedBySecurity(enforced api.LevelVersion, before, after *corev1.PodTemplateSpec, injected bool) ([]string, error) {
	evaluator, err := podSecurity()
	if err != nil {
		return nil, fmt.Errorf("reading the Pod Security Standards: %w", err)
	}
	judge := func(t *corev1.PodTemplateSpec) policy.AggregateCheckResult {
		return policy.AggregateCheckResults(evaluator.EvaluatePod(enforced, &t.ObjectMeta, &t.Spec))
	}
	result := judge(after)
	if result.Allowed {
		return nil, nil
	}
	when := " after injection"
	switch {
	case !injected:
		when = ""
	case !judge(before).Allowed:
		when = " with and without injection"
	}
	return []string{fmt.Sprintf("the pods will be refused%s: the namespace enforces the Pod Security level %q: %s", when, enforced.String(), result.ForbiddenDetail())}, nil
}

// podTemplateOf decodes the pod template of an object, or the pod itself.
func podTemplateOf(kind string, object []byte) (*corev1.PodTemplateSpec, error) {
	raw := jsontext.Value(object)
	for _, step := range kinds.Named(kind).Template() {
		var fields map[string]jsontext.Value
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, fmt.Errorf("reading %s: %w", strings.Join(kinds.Named(kind).Template(), "."), err)
		}
		raw = fields[step]
	}
	template := &corev1.PodTemplateSpec{}
	if err := json.Unmarshal([]byte(cmp.Or(string(raw), "{}")), template); err != nil {
		return nil, err
	}
	return template, nil
}
