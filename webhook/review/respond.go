package review

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/usher-dev/usher/finding"
	"github.com/usher-dev/usher/finding/reason"
	"github.com/usher-dev/usher/injector/podjson"
)

// A Response is the decision to send back.
type Response struct {
	Allowed bool
	// Reason is the decision's reason code.
	Reason string
	// Code and Message are the HTTP status and text of a denial.
	Code    int
	Message string
	// Causes are the findings behind a denial.
	Causes []finding.Finding
	// Warnings are shown to the user of the client.
	Warnings []string
	// Withheld are findings with names that the response does not contain. They
	// are logged.
	Withheld []string
	// Audit is written to the API server's audit log.
	Audit map[string]string
	Patch podjson.Patch
	// Injected lists the added templates, Rules the rules with findings.
	Injected, Rules []string
}

// The API server truncates warnings itself, in the middle of words and from the
// end of the list.
const (
	maxWarning  = 256
	maxWarnings = 4096
)

// verbosity is the log level of decisions that changed nothing.
func (r *Response) verbosity() int {
	if r.Reason == string(reason.NotAsked) || r.Reason == string(reason.PolicyClean) {
		return 1
	}
	return 0
}

// respond writes the response, immediately if it is flushed, else when the
// handler returns.
func (e *endpoint) respond(w http.ResponseWriter, uid string, r *Response, flush bool) {
	patch, answer := e.buffers.get(), e.buffers.get()
	defer e.buffers.put(patch)
	if len(r.Patch) > 0 && r.Allowed {
		patch.Grow(r.Patch.Size())
		patch.Write(r.Patch.AppendJSON(patch.AvailableBuffer()))
	}
	answer.Grow(512 + base64.StdEncoding.EncodedLen(patch.Len()))
	answer.Write(r.appendReview(answer.AvailableBuffer(), uid, patch.Bytes()))

	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(answer.Len()))
	_, err := w.Write(answer.Bytes())
	if flush && err == nil {
		err = http.NewResponseController(w).Flush()
	}
	// HTTP/2 may still read what it could not write.
	if err == nil {
		e.buffers.put(answer)
	}
}

// appendReview appends the review, with the patch if it has one.
func (r *Response) appendReview(b []byte, uid string, patch []byte) []byte {
	b = append(b, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":`...)
	b = appendString(b, uid)
	b = append(b, `,"allowed":`...)
	b = strconv.AppendBool(b, r.Allowed)
	if !r.Allowed {
		b = r.appendStatus(append(b, `,"status":`...))
	}
	if len(patch) > 0 {
		b = append(b, `,"patchType":"JSONPatch","patch":"`...)
		b = base64.StdEncoding.AppendEncode(b, patch)
		b = append(b, '"')
	}
	if len(r.Audit) > 0 {
		b = append(b, `,"auditAnnotations":{`...)
		first := true
		for key, value := range r.Audit {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(appendString(b, key), ':')
			b = appendString(b, value)
		}
		b = append(b, '}')
	}
	if warnings := fit(r.Warnings); len(warnings) > 0 {
		b = append(b, `,"warnings":[`...)
		for i, warning := range warnings {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, warning)
		}
		b = append(b, ']')
	}
	return append(b, `}}`...)
}

func (r *Response) appendStatus(b []byte) []byte {
	code := r.Code
	if code == 0 {
		code = http.StatusForbidden
	}
	b = append(b, `{"status":"Failure","reason":"Forbidden","code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = appendString(append(b, `,"message":`...), r.Message)
	if len(r.Causes) > 0 {
		b = append(b, `,"details":{"causes":[`...)
		for i, c := range r.Causes {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(append(b, `{"reason":`...), c.Code())
			b = appendString(append(b, `,"message":`...), c.Message)
			if c.Field != "" {
				b = appendString(append(b, `,"field":`...), c.Field)
			}
			b = append(b, '}')
		}
		b = append(b, `]}`...)
	}
	return append(b, '}')
}

func appendString(b []byte, s string) []byte {
	// Invalid UTF-8 is replaced, because the response cannot contain it.
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// fit shortens the warnings to what the API server passes on, and reports how
// many it dropped.
func fit(warnings []string) []string {
	total := 0
	for i, text := range warnings {
		if len(text) > maxWarning {
			cut := maxWarning - len("…")
			for cut > 0 && !utf8.RuneStart(text[cut]) {
				cut--
			}
			warnings = slices.Clone(warnings)
			text = text[:cut] + "…"
			warnings[i] = text
		}
		if total += len(text); total > maxWarnings-maxWarning {
			return append(slices.Clone(warnings[:i]), strconv.Itoa(len(warnings)-i)+" more warnings")
		}
	}
	return warnings
}
