package handlers

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/finding/release"
	"github.com/usher-dev/usher/injector"
)

// ownersJudged is the version since which an owner reference does not exempt an
// object by itself, because anyone can write one.
var ownersJudged = release.Version{Major: 0, Minor: 2}

// ownerAPIVersions are the API versions of the workloads that these controllers
// reconcile.
var ownerAPIVersions = []string{"apps/v1", "batch/v1", "v1"}

// notJudgedAsItsController is false, in CEL, for an object that one of
// Kubernetes' own controllers creates for a workload, because usher already
// judged the workload. Judging it again would deny what an UPDATE of the
// workload was allowed to keep, and stop a rollout halfway.
var notJudgedAsItsController = `!has(object.metadata.ownerReferences) || !object.metadata.ownerReferences.exists(o, ` +
	`has(o.controller) && o.controller && o.apiVersion in ` + celList(ownerAPIVersions) + `) || ` +
	`!(request.userInfo.username in ` + celList(injector.Controllers) + `)`

func celList(values []string) string { return `["` + strings.Join(values, `","`) + `"]` }

// claimsController reports whether an object has an owner reference, which
// exempted it before ownersJudged.
func claimsController(object []byte) bool {
	var o metav1.PartialObjectMetadata
	if json.Unmarshal(object, &o) != nil {
		return false // a finding reports what does not decode
	}
	return slices.ContainsFunc(o.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.Controller != nil && *r.Controller && (r.APIVersion == "apps/v1" || r.APIVersion == "batch/v1")
	})
}
