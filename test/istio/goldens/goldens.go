// Package goldens pins the version of Istio whose injection tests are compared, in a
// module of its own, so that no other module requires Istio. It imports a package
// without dependencies to keep the requirement.
package goldens

import _ "istio.io/istio/pkg/ptr"
