package review

import "github.com/usher-dev/usher/jsonscan"

// scan reads a review as an API server writes it. It returns false for one that
// only a full decoder can read, or refuse.
func scan(body []byte) (r admissionReview, ok bool) {
	s := jsonscan.NewLenient(body)
	defer s.Close()
	for s.Object(); s.Member(); {
		switch string(s.Name) {
		case "apiVersion":
			r.APIVersion = s.Text()
		case "kind":
			r.Kind = s.Text()
		case "request":
			r.Request = scanRequest(s)
		default:
			s.Skip()
		}
	}
	return r, s.Done()
}

func scanRequest(s *jsonscan.Scanner) *Request {
	r := &Request{}
	for s.Object(); s.Member(); {
		switch string(s.Name) {
		case "uid":
			r.UID = s.Text()
		case "kind":
			scanTexts(s, text{"group", &r.Kind.Group}, text{"version", &r.Kind.Version}, text{"kind", &r.Kind.Kind})
		case "resource":
			scanTexts(s, text{"group", &r.Resource.Group}, text{"resource", &r.Resource.Resource})
		case "name":
			r.Name = s.Text()
		case "namespace":
			r.Namespace = s.Text()
		case "operation":
			r.Operation = s.Text()
		case "userInfo":
			scanTexts(s, text{"username", &r.UserInfo.Username})
		case "object":
			r.Object = s.Skip()
		case "oldObject":
			r.OldObject = s.Skip()
		case "dryRun":
			r.DryRun = s.Bool()
		default:
			s.Skip()
		}
	}
	return r
}

// A text is a field whose value is a string.
type text struct {
	name  string
	value *string
}

// scanTexts reads the fields of an object, and passes over the others.
func scanTexts(s *jsonscan.Scanner, fields ...text) {
next:
	for s.Object(); s.Member(); {
		for _, f := range fields {
			if string(s.Name) == f.name {
				*f.value = s.Text()
				continue next
			}
		}
		s.Skip()
	}
}
