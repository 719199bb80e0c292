package status

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
)

// An Object is one that an installation creates.
type Object struct {
	schema.GroupVersionKind
	Namespace string
}

// rights checks whether the user may create and change what is installed.
func (b *Before) rights(ctx context.Context) []Check {
	check := Check{Section: rightsSection, Name: "install", State: OK}
	groups, err := restmapper.GetAPIGroupResources(b.Clients.Discovery())
	if err != nil {
		return []Check{unread(rightsSection, check.Name, "list the API groups", err)}
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	asked, rights := map[authorizationv1.ResourceAttributes]bool{}, 0
	var lacking, unserved []string
	for _, o := range b.Objects {
		mapping, err := mapper.RESTMapping(o.GroupKind(), o.Version)
		if err != nil {
			unserved = append(unserved, o.GroupVersion().String()+" "+o.Kind)
			continue
		}
		right := authorizationv1.ResourceAttributes{Group: mapping.Resource.Group, Resource: mapping.Resource.Resource}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			right.Namespace = o.Namespace
		}
		if asked[right] {
			continue
		}
		asked[right] = true
		var verbs []string
		for _, right.Verb = range []string{"create", "patch"} {
			rights++
			allowed, err := may(ctx, b.Clients, right)
			if err != nil {
				return []Check{unread(rightsSection, check.Name, "create selfsubjectaccessreviews", err)}
			}
			if !allowed {
				verbs = append(verbs, right.Verb)
			}
		}
		if len(verbs) > 0 {
			lacking = append(lacking, strings.Join(verbs, " and ")+" "+describe(right))
		}
	}
	check.Message = fmt.Sprintf("you have the %d rights that the installation needs", rights)
	switch unserved := sorted(unserved); {
	case len(unserved) > 0:
		check.State, check.Message = Failed, "the API server does not serve "+few(unserved)
		check.Remedy = "see that the cluster's version is supported"
	case len(lacking) > 0:
		check.State, check.Message = Failed, "you may not "+few(sorted(lacking))
		check.Remedy = "install usher as an administrator of the cluster, such as with --as or --context"
	}
	return []Check{check}
}

// describe names what a right is about.
func describe(right authorizationv1.ResourceAttributes) string {
	text := right.Resource
	if right.Group != "" {
		text += "." + right.Group
	}
	if right.Namespace != "" {
		text += " in " + right.Namespace
	}
	return text
}
