// Package goldens is a separate module that requires the version of Istio whose
// injection tests usher is compared with, so that no other module requires Istio.
// It imports a package without dependencies to keep the requirement.
package goldens

import _ "istio.io/istio/pkg/ptr"
