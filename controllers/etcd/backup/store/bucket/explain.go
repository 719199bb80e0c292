package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/usher-dev/usher/controllers/etcd/answer"
	"github.com/usher-dev/usher/controllers/etcd/backup/store"
)

// explain says in the terms of the manifest what a store's response means. The
// response itself is the cause, for the log.
func (s *Bucket) explain(err error, doing, key string) error {
	if err == nil {
		return nil
	}
	reason, words := s.meaning(err)
	return store.Answered(reason, err, "%s %s/%s: %s", doing, s.options.Bucket, key, words)
}

// meaning returns the reason of a store's response, and describes it. Of a
// response it only uses the status and codes that S3 defines.
func (s *Bucket) meaning(err error) (store.Reason, string) {
	if reason, words := s.options.Meaning(err); reason != "" {
		return reason, words
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
			return store.Unavailable, words
		}
		return store.Unavailable, "it does not answer as an S3 server does"
	case code == "NoSuchBucket":
		return store.NoBucket, fmt.Sprintf("the bucket %s does not exist: create it, or write another one in path", s.options.Bucket)
	case code == "NoSuchKey" || status == http.StatusNotFound && (code == "" || code == "NotFound"):
		return store.NotFound, "it does not exist"
	case code == "RequestTimeTooSkewed":
		return store.Denied, "the clock of the store differs from usher's"
	case code == "AuthorizationHeaderMalformed", code == "IllegalLocationConstraintException":
		return store.Denied, "the bucket is in another region: write it in " + s.options.RegionIn
	case code == "ExpiredToken", code == "TokenRefreshRequired":
		return store.Denied, s.options.Signer + " have expired"
	case code == "InvalidToken":
		return store.Denied, s.options.Signer + " are wrong or lack permission: the store does not accept the session token"
	case status == http.StatusForbidden, status == http.StatusUnauthorized,
		code == "XAdminUserNotFound": // what versitygw says of an unknown key
		return store.Denied, s.options.Signer + " are wrong or lack permission"
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		return store.Unavailable, "the store redirects to another host: write the endpoint of that host, or the bucket's region in " + s.options.RegionIn
	case status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests:
		return store.Unavailable, fmt.Sprintf("the store is overloaded or not ready (HTTP status %d)", status)
	case status >= http.StatusInternalServerError:
		return store.Unavailable, fmt.Sprintf("the store fails (HTTP status %d)", status)
	case status >= http.StatusBadRequest:
		return store.Unavailable, fmt.Sprintf("the store does not accept the request, or is not an S3 server (HTTP status %d)", status)
	}
	if words := answer.Network(err); words != "" {
		return store.Unavailable, words
	}
	return store.Unavailable, fmt.Sprintf("it does not answer as an S3 server does (HTTP status %d)", status)
}
