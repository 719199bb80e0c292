package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/usher-dev/usher/controllers/etcd/answer"
	"github.com/usher-dev/usher/controllers/etcd/reach"
)

// explain says in the terms of the manifest what a store's response means. The
// response itself is the cause, for the log.
func (s *S3) explain(err error, doing, key string) error {
	if err == nil {
		return nil
	}
	reason, words := s.meaning(err)
	return answered(reason, err, "%s %s/%s: %s", doing, s.bucket, key, words)
}

// meaning returns the reason of a store's response, and describes it. Of a
// response it only uses the status and codes that S3 defines.
func (s *S3) meaning(err error) (Reason, string) {
	if unchecked := (*reach.Unchecked)(nil); errors.As(err, &unchecked) {
		return Unchecked, unchecked.Error()
	}
	if refused := (*reach.Refused)(nil); errors.As(err, &refused) {
		return Refused, refused.Error()
	}
	var response *awshttp.ResponseError
	var said smithy.APIError
	status, code := 0, ""
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	if errors.As(err, &said) {
		code = said.ErrorCode()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), status == 0:
		if words := answer.Network(err); words != "" {
			return Unavailable, words
		}
		return Unavailable, "it does not answer as an S3 server does"
	case code == "NoSuchBucket":
		return NoBucket, fmt.Sprintf("the bucket %s does not exist: create it, or write another one in path", s.bucket)
	case code == "NoSuchKey" || status == http.StatusNotFound && (code == "" || code == "NotFound"):
		return NotFound, "it does not exist"
	case code == "RequestTimeTooSkewed":
		return Denied, "the clock of the store differs from usher's"
	case code == "AuthorizationHeaderMalformed", code == "IllegalLocationConstraintException":
		return Denied, "the bucket is in another region: write it in the Secret's key config"
	case status == http.StatusForbidden, status == http.StatusUnauthorized,
		code == "XAdminUserNotFound": // what versitygw says of an unknown key
		return Denied, "the credentials in the Secret are wrong or lack permission"
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		return Unavailable, "the store redirects to another host: write the endpoint of that host, or the bucket's region in the Secret"
	case status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests:
		return Unavailable, fmt.Sprintf("the store is overloaded or not ready (HTTP status %d)", status)
	case status >= http.StatusInternalServerError:
		return Unavailable, fmt.Sprintf("the store fails (HTTP status %d)", status)
	case status >= http.StatusBadRequest:
		return Unavailable, fmt.Sprintf("the store does not accept the request, or is not an S3 server (HTTP status %d)", status)
	}
	if words := answer.Network(err); words != "" {
		return Unavailable, words
	}
	return Unavailable, fmt.Sprintf("it does not answer as an S3 server does (HTTP status %d)", status)
}
