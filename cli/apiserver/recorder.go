package apiserver

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// A recorder is the strategy of a server's version. It records what the strategy
// finds, so that the server's code formats it.
type recorder struct {
	rest.RESTCreateUpdateStrategy
	changes []*change
	errs    field.ErrorList
	// prepares is true if it only prepares objects, and does not validate them.
	prepares bool
}

// PrepareForCreate implements rest.RESTCreateStrategy.
func (r *recorder) PrepareForCreate(ctx context.Context, object runtime.Object) {
	restore := r.keep(object)
	r.RESTCreateUpdateStrategy.PrepareForCreate(ctx, object)
	restore()
}

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (r *recorder) PrepareForUpdate(ctx context.Context, object, old runtime.Object) {
	restore := r.keep(object)
	r.RESTCreateUpdateStrategy.PrepareForUpdate(ctx, object, old)
	restore()
}

// keep saves what the newest version drops and the server's does not, and drops
// what only the server's drops.
func (r *recorder) keep(object runtime.Object) (restore func()) {
	var all []func()
	for _, c := range r.changes {
		if c.keep != nil {
			all = append(all, c.keep(object))
		}
		if c.drop != nil {
			c.drop(object)
		}
	}
	return func() {
		for _, f := range all {
			f()
		}
	}
}

// Validate implements rest.RESTCreateStrategy.
func (r *recorder) Validate(ctx context.Context, object runtime.Object) field.ErrorList {
	if r.prepares {
		return nil
	}
	return r.of(object, nil, r.RESTCreateUpdateStrategy.Validate(ctx, object))
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (r *recorder) ValidateUpdate(ctx context.Context, object, old runtime.Object) field.ErrorList {
	if r.prepares {
		return nil
	}
	return r.of(object, old, r.RESTCreateUpdateStrategy.ValidateUpdate(ctx, object, old))
}

// of turns the errors of the newest version into those of the server's.
func (r *recorder) of(object, old runtime.Object, errs field.ErrorList) field.ErrorList {
	r.errs = r.admitted(errs)
	for _, c := range r.changes {
		if c.refuse != nil {
			r.errs = append(r.errs, c.refuse(object, old)...)
		}
	}
	return r.errs
}

// admitted removes errors that the server's version does not have.
func (r *recorder) admitted(errs field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(errs, func(e *field.Error) bool {
		return slices.ContainsFunc(r.changes, func(c *change) bool { return c.admit != nil && c.admit(e) })
	})
}

// ValidateDeclaratively implements rest.DeclarativeValidationStrategy.
func (r *recorder) ValidateDeclaratively(ctx context.Context, object, old runtime.Object, errs field.ErrorList, how operation.Type, config rest.DeclarativeValidationConfig) field.ErrorList {
	if r.prepares {
		return nil
	}
	if s, ok := r.RESTCreateUpdateStrategy.(rest.DeclarativeValidationStrategy); ok {
		errs = s.ValidateDeclaratively(ctx, object, old, errs, how, config)
	}
	r.errs = r.admitted(errs)
	return r.errs
}

// DeclarativeValidationConfig implements rest.DeclarativeValidationStrategy.
func (r *recorder) DeclarativeValidationConfig(ctx context.Context, object, old runtime.Object) rest.DeclarativeValidationConfig {
	if s, ok := r.RESTCreateUpdateStrategy.(rest.DeclarativeValidationStrategy); ok {
		return s.DeclarativeValidationConfig(ctx, object, old)
	}
	return rest.DeclarativeValidationConfig{}
}
