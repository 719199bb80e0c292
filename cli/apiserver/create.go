package apiserver

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"github.com/usher-dev/usher/finding"
)

// A call is one object on its way through the API server.
type call struct {
	registry
	kind      schema.GroupVersionKind
	namespace string
	server    server
	// labels are the labels of the namespace.
	labels   map[string]string
	warnings []string
	// prepares is true if the object is only completed, and not validated.
	prepares bool
}

// AddWarning implements warning.Recorder.
func (c *call) AddWarning(_, text string) { c.warnings = append(c.warnings, text) }

// context is the context of an administrator's request: only a cluster knows
// the rights of other users.
func (c *call) context(verb, name string) context.Context {
	ctx := request.WithNamespace(context.Background(), c.namespace)
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup}})
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIPrefix: "apis", APIGroup: c.kind.Group, APIVersion: c.kind.Version,
		Resource: c.resource, Namespace: c.namespace, Name: name,
	})
	ctx = context.WithValue(ctx, labelsKey{}, c.labels)
	return warning.WithWarningRecorder(ctx, c)
}

// create takes an object through the API server's steps before storage.
// Afterwards the object is as the server would store it.
func (c *call) create(object runtime.Object) ([]finding.Finding, error) {
	m, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of the %s: %w", c.kind.Kind, err)
	}
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetResourceVersion("")
	m.SetManagedFields(nil)
	m.SetCreationTimestamp(metav1.Now())
	m.SetUID(uid)
	generate(c.strategy, m)
	if c.strategy.NamespaceScoped() && m.GetNamespace() == "" {
		m.SetNamespace(c.namespace)
	}
	ctx := c.context("create", m.GetName())
	if c.begin != nil {
		if err := c.begin(ctx, object, nil); err != nil {
			return refusals(err, nil), nil
		}
	}
	r := &recorder{RESTCreateUpdateStrategy: c.strategy, changes: c.server.changes(c.kind.Kind), prepares: c.prepares}
	if err := rest.BeforeCreate(r, ctx, object); err != nil {
		return refusals(err, r.errs), nil
	}
	return nil, nil
}

// uid is the UID of every new object: the server's would differ from run to
// run.
const uid = types.UID("00000000-0000-4000-8000-000000000000")

// generate gives an object with generateName a name, which is always the same.
func generate(s rest.RESTCreateUpdateStrategy, m metav1.Object) {
	if m.GetName() != "" || m.GetGenerateName() == "" {
		return
	}
	const random = 5
	name := s.GenerateName(m.GetGenerateName())
	if len(name) > random && name != m.GetGenerateName() {
		name = name[:len(name)-random] + strings.Repeat("x", random)
	}
	m.SetName(name)
}
