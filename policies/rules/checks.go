package rules

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/usher-dev/usher/policies"
)

// on returns a check of objects of one Go type.
func on[T any](check func(*policies.Pass, *T)) func(*policies.Pass) {
	return func(p *policies.Pass) {
		if object, ok := p.Typed.(*T); ok {
			check(p, object)
		}
	}
}

// onJobs returns a check of Jobs and of the Jobs of CronJobs.
func onJobs(check func(p *policies.Pass, job *batchv1.JobSpec, path *field.Path)) func(*policies.Pass) {
	return func(p *policies.Pass) {
		if p.Job != nil {
			check(p, p.Job, p.JobPath)
		}
	}
}

// onPods returns a check of every pod template.
func onPods(check func(*policies.Pass, *policies.PodTemplate)) func(*policies.Pass) {
	return func(p *policies.Pass) {
		for i := range p.Templates {
			check(p, &p.Templates[i])
		}
	}
}

// onContainers returns a check of every container of every pod template.
func onContainers(check func(*policies.Pass, policies.PodContainer)) func(*policies.Pass) {
	return onPods(func(p *policies.Pass, t *policies.PodTemplate) {
		t.Containers(func(c policies.PodContainer) { check(p, c) })
	})
}

// subject returns a path's last element, with which a message begins:
// containers[0] or image.
func subject(path *field.Path) string {
	s := path.String()
	if strings.HasSuffix(s, "]") {
		open := strings.LastIndexByte(s, '[')
		if key := s[open+1 : len(s)-1]; strings.ContainsAny(key, "./") {
			return key
		}
		return s[strings.LastIndexByte(s[:open], '.')+1:]
	}
	return s[strings.LastIndexByte(s, '.')+1:]
}
