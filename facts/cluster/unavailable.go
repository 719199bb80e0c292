package cluster

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// errUnavailable is wrapped by errors that pass: the API server could not be
// asked. apierrors.IsServiceUnavailable recognizes it.
var errUnavailable = apierrors.NewServiceUnavailable("not ready")
