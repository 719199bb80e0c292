package admit

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/release"
)

// ownersJudged is the version since which an owner reference alone exempts
// nothing: anyone can write one.
var ownersJudged = release.Version{Major: 0, Minor: 2}

// controllers are the users as which Kubernetes' own controllers create objects:
// each its ServiceAccount, or all of them the controller manager where it runs
// without --use-service-account-credentials.
var controllers = []string{
	"system:kube-controller-manager",
	"system:serviceaccount:kube-system:cronjob-controller",
	"system:serviceaccount:kube-system:daemon-set-controller",
	"system:serviceaccount:kube-system:deployment-controller",
	"system:serviceaccount:kube-system:job-controller",
	"system:serviceaccount:kube-system:replicaset-controller",
	"system:serviceaccount:kube-system:replication-controller",
	"system:serviceaccount:kube-system:statefulset-controller",
}

// ownerAPIVersions are those of the workloads that these controllers work for.
var ownerAPIVersions = []string{"apps/v1", "batch/v1", "v1"}

// notJudgedAsItsController is false, in CEL, for what one of Kubernetes' own
// controllers makes of a workload: the workload was judged. To judge it again
// would deny what an UPDATE of the workload was allowed to keep, and leave a
// rollout half done.
var notJudgedAsItsController = `!has(object.metadata.ownerReferences) || !object.metadata.ownerReferences.exists(o, ` +
	`has(o.controller) && o.controller && o.apiVersion in ` + celList(ownerAPIVersions) + `) || ` +
	`!(request.userInfo.username in ` + celList(controllers) + `)`

func celList(values []string) string { return `["` + strings.Join(values, `","`) + `"]` }

// claimsController says whether an object has the owner reference that exempted
// it before ownersJudged.
func claimsController(object []byte) bool {
	var o metav1.PartialObjectMetadata
	if json.Unmarshal(object, &o) != nil {
		return false // what does not decode is a finding
	}
	return slices.ContainsFunc(o.OwnerReferences, func(r metav1.OwnerReference) bool {
		return r.Controller != nil && *r.Controller && (r.APIVersion == "apps/v1" || r.APIVersion == "batch/v1")
	})
}
