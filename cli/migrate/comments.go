package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/api/wellknown"
)

// comments are the comments at a path of the new configuration; "" is the path
// of those before it.
type comments map[string]string

func header(name string) string {
	return fmt.Sprintf(`Converted from InitializerConfiguration %s, which Kubernetes dropped in 1.14.
This is for review, or for a webhook of your own: "usher webhook" registers its own configuration, and with both the API server would call usher twice.

Initializers had these features, for which webhooks have no equivalent:
- metadata.initializers.pending: no list names the pending webhooks. The request waits for the response of each webhook, and a webhook has nothing to remove from the object; delete the code that did.
- metadata.initializers.result: an initializer rejected an object by writing this field. A webhook answers "allowed: false" with a message, and the API server stores nothing.
- An initializer saw stored objects, which were hidden from every request without includeUninitialized. A webhook sees objects before they are stored: without uid and, with generateName, without name.
- An initializer read and patched objects with its own rights, at its own pace. A webhook answers with a patch within timeoutSeconds, at most 30.
- Initializers ran in the order of their list, and configurations in the order of their names. The API server calls webhooks in the same order, but may call one again, and another webhook may change the object afterwards.`, name)
}

const (
	clientConfigComment = `An initializer watched the API server; the API server calls a webhook. caBundle is missing: "usher webhook" writes it only to its own configuration. For another webhook, write its Service here, and add the CA bundle of its certificate.`

	secondComment = `usher handles workloads at a separate path: it copies the annotation to their pod templates.`

	rulesComment = `Initializers ran only when objects were created.`

	workloadNote = `These resources do not include pods. usher adds containers only to pods, and copies the annotation to the pod templates of workloads: add pods of v1.`

	absentPolicyComment = `While its initializer was down, an object stayed pending and hidden, which corresponds to Fail.`
	failPolicyComment   = `Unchanged, but while the webhook does not answer, the API server rejects the object at once.`
	ignorePolicyComment = `Unchanged: an object that is admitted without the webhook stays without its change.`

	matchPolicyComment = `A rule matched only the version of the request. Equivalent matches every served version of the object.`

	namespaceComment = `Initializers ran in every namespace. A webhook that is down must not block these namespaces, including its own; for another webhook, write its namespace here.`

	reinvocationComment = `An initializer ran once. IfNeeded calls the webhook again after changes of later webhooks.`

	sideEffectsComment = `None allows dry runs: the webhook changes nothing but the object.`
)

func conditionComment(template string) string {
	return fmt.Sprintf(`An initializer got every object that matched its rules, and checked the annotation %s%s itself. Here the API server checks it; without this condition an outage of the webhook would block all these objects.`, wellknown.InitializerPrefix, template)
}

func foreignComment(name string) string {
	return fmt.Sprintf(`%s is not an initializer of one of usher's templates, which would be <template>%s: write the Service of the webhook that replaces it. Without matchConditions the API server calls it for everything that matches the rules.`, name, nameSuffix)
}

// notes are remarks on the rules of one webhook, without duplicates.
type notes struct {
	lines []string
	said  map[string]bool
	moves []movedNote // a minimal number of moves
}

// A movedNote describes that resources have moved.
type movedNote struct {
	from, to  string
	resources []string
}

// add adds a remark, and reports whether it is new.
func (n *notes) add(line string) bool {
	if n.said[line] {
		return false
	}
	if n.said == nil {
		n.said = map[string]bool{}
	}
	n.said[line] = true
	n.lines = append(n.lines, line)
	return true
}

func (n *notes) moved(a arrival) {
	from, to := a.from.groupVersion(), a.to.groupVersion()
	i := slices.IndexFunc(n.moves, func(m movedNote) bool { return m.from == from && m.to == to })
	if i < 0 {
		i = len(n.moves)
		n.moves = append(n.moves, movedNote{from: from, to: to})
	}
	if m := &n.moves[i]; !slices.Contains(m.resources, a.from.resource) {
		m.resources = append(m.resources, a.from.resource)
	}
}

// text formats the remarks as further lines of a comment.
func (n *notes) text() string {
	var b strings.Builder
	for _, m := range n.moves {
		fmt.Fprintf(&b, "\n%s of %s are no longer served: today they are in %s.", strings.Join(m.resources, ", "), m.from, m.to)
	}
	for _, line := range n.lines {
		b.WriteString("\n" + line)
	}
	return b.String()
}

// commentWidth is the maximum length of a comment's lines.
const commentWidth = 80

// wrap formats each line of text as a paragraph of a YAML comment.
func wrap(text string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(text, "\n") {
		indent := ""
		if strings.HasPrefix(paragraph, "- ") {
			indent = "  "
		}
		line := "#"
		for word := range strings.FieldsSeq(paragraph) {
			if len(line)+1+len(word) > commentWidth {
				b.WriteString(line + "\n")
				line = "#" + indent
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
