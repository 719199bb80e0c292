package cluster

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// errUnavailable is wrapped by temporary errors: the API server could not be
// reached. apierrors.IsServiceUnavailable recognizes it.
var errUnavailable = apierrors.NewServiceUnavailable("not ready")
