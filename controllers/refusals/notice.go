package refusals

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/usher-dev/usher/kinds"
)

const (
	// once is how often an owner is told of one cause.
	once = time.Hour
	// longest is the API server's limit for a note, in bytes.
	longest = 1024
)

// notice is the Event that tells an owner of a refusal. about is the object whose
// pods were refused, which may be the owner itself. Its name is derived from the owner,
// the cause and the hour, so that the API server refuses a second one, whichever
// replica writes it.
func notice(owner, about corev1.ObjectReference, r refusal, now time.Time) *eventsv1.Event {
	sum := sha256.Sum256(fmt.Appendln(nil, owner.UID, r.reason, r.text, now.Unix()/int64(once.Seconds())))
	// A name has at most 253 bytes, and no part of it ends in a dash.
	name := fmt.Sprintf("%s.%x", strings.TrimRight(fmt.Sprintf("%.200s", owner.Name), "-."), sum[:8])
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: name},
		EventTime:  metav1.NewMicroTime(now), ReportingController: reporter, ReportingInstance: reporter,
		Type: corev1.EventTypeWarning, Reason: r.reason, Action: "Create", Regarding: owner, Note: note(owner, about, r),
	}
}

const reporter = "usher-refusals"

// note says the reason, and the command that says what to do, which is kept when
// the reason is too long.
func note(owner, about corev1.ObjectReference, r refusal) string {
	if kinds.Find(owner.APIVersion, owner.Kind) == nil { // usher explain does not know it
		owner = about
	}
	remedy := fmt.Sprintf("`usher explain %s/%s -n %s` says what to do", strings.ToLower(owner.Kind), owner.Name, owner.Namespace)
	if r.reason == ReasonUnreachable {
		remedy = "`usher status` says what is wrong"
	}
	text := r.text
	if most := longest - len(remedy) - len(": …"); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text + ": " + remedy
}
