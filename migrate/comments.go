package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/usher-dev/usher/injector"
)

// comments are what is said at a path of the new configuration; at "" before
// all of it.
type comments map[string]string

func header(name string) string {
	return fmt.Sprintf(`Converted from InitializerConfiguration %s, which Kubernetes dropped in 1.14.
This is for review, or for a webhook of your own: "usher webhook" registers its own configuration, and beside it this one would have usher asked twice.

What initializers had and webhooks have no equal for:
- metadata.initializers.pending: there is no list of who is yet to come, in the object or elsewhere. The request waits for each webhook's answer, and nothing is to be removed from the object; delete the code that did.
- metadata.initializers.result: an initializer failed an object by writing it. A webhook answers "allowed: false" with a message, and nothing is stored.
- An initializer saw objects that were stored, but uninitialized and hidden from all who did not ask with includeUninitialized. A webhook sees them before they are stored: without uid and, after generateName, without name.
- An initializer read and patched objects with rights of its own, at its own pace. A webhook answers with a patch within timeoutSeconds, 30 at most.
- Initializers ran in the order of their list, configurations in the order of their names. Webhooks are called alike, but may be asked again, and another's change may come after theirs.`, name)
}

const (
	clientConfigComment = `An initializer watched the API server; a webhook is called by it. caBundle is left out: "usher webhook" writes it to its own configuration only. For another webhook name its Service here, and add the bundle its certificate is checked with.`

	secondComment = `usher answers for workloads at a path of their own: it carries the annotation to the pods they make.`

	rulesComment = `Initializers ran when objects were created, and only then.`

	workloadNote = `No pods are among these resources. usher adds containers to pods, not to the templates of workloads, to which it carries the annotation: add pods of v1.`

	absentPolicyComment = `With its initializer down an object stayed pending, hidden and of no use: Fail.`
	failPolicyComment   = `As it was, but a webhook that does not answer refuses the object at once.`
	ignorePolicyComment = `As it was: what is admitted without the webhook stays without its change.`

	matchPolicyComment = `A rule matched the version an object was sent in. Equivalent matches it in every version that is served.`

	namespaceComment = `Initializers ran in every namespace. A webhook that is down must not keep these from starting, its own among them; name the namespace of another webhook here.`

	reinvocationComment = `An initializer ran once. IfNeeded asks again after later webhooks' changes.`

	sideEffectsComment = `None lets dry runs through: the webhook changes nothing but the object.`
)

func conditionComment(template string) string {
	return fmt.Sprintf(`An initializer got every object its rules name, and looked for the annotation %s%s itself, if it cared. Here the API server does; without this condition an outage of the webhook would stop them all.`, injector.InitializerPrefix, template)
}

func foreignComment(name string) string {
	return fmt.Sprintf(`%s is no initializer of a template of usher's, which would be <template>%s: put the Service of the webhook here that does its work. Without matchConditions it is asked about all that the rules name.`, name, nameSuffix)
}

// notes are remarks on the rules of one webhook, each once.
type notes struct {
	lines []string
	said  map[string]bool
	moves []movedNote // as few as there are moves
}

// A movedNote tells that resources are found elsewhere today.
type movedNote struct {
	from, to  string
	resources []string
}

// add adds a remark, and says whether it is new.
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

// text is the remarks as further lines of a comment.
func (n *notes) text() string {
	var b strings.Builder
	for _, m := range n.moves {
		fmt.Fprintf(&b, "\n%s of %s are not served any more: today they are in %s.", strings.Join(m.resources, ", "), m.from, m.to)
	}
	for _, line := range n.lines {
		b.WriteString("\n" + line)
	}
	return b.String()
}

// commentWidth is how long the lines of comments get.
const commentWidth = 80

// wrap writes each line of text as a paragraph of YAML comment.
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
