package review

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Request is the part of an AdmissionReview's request that usher reads.
// Objects stay in their original JSON. They are valid until the request is
// answered.
type Request struct {
	UID  string `json:"uid"`
	Kind struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	} `json:"kind"`
	Resource struct {
		Group    string `json:"group"`
		Resource string `json:"resource"`
	} `json:"resource"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Operation string `json:"operation"`
	UserInfo  struct {
		Username string `json:"username"`
	} `json:"userInfo"`
	Object    jsontext.Value `json:"object"`
	OldObject jsontext.Value `json:"oldObject"`
	DryRun    bool           `json:"dryRun"`
}

const (
	reviewVersion = "admission.k8s.io/v1"
	reviewKind    = "AdmissionReview"
)

// An admissionReview is the part of an AdmissionReview that usher reads.
type admissionReview struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Request    *Request `json:"request"`
}

// decode decodes an AdmissionReview. It does not check for repeated names in
// the object, because the decision checks that once. The objects of the Request are
// parts of the body.
func decode(body []byte) (*Request, error) {
	review, ok := scan(body)
	if !ok {
		review = admissionReview{}
		if err := json.Unmarshal(body, &review, jsontext.AllowDuplicateNames(true)); err != nil {
			var semantic *json.SemanticError
			if errors.As(err, &semantic) {
				return nil, malformed("the body is not an AdmissionReview: %s is of the wrong type", semantic.JSONPointer)
			}
			return nil, malformed("the body is not JSON: %v", err)
		}
	}
	switch {
	case review.Kind != reviewKind:
		return nil, malformed("the body is a %q, not an AdmissionReview", review.Kind)
	case review.APIVersion != reviewVersion:
		return nil, malformed("the review is of version %q; usher speaks %s, set admissionReviewVersions: [v1]", review.APIVersion, reviewVersion)
	case review.Request == nil:
		return nil, malformed("the review has no request")
	case review.Request.UID == "":
		return nil, malformed("the review's request has no uid")
	}
	// The API server writes null for a missing object.
	if review.Request.OldObject.Kind() == 'n' {
		review.Request.OldObject = nil
	}
	return review.Request, nil
}
