package manifest

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxNested limits the nesting of Lists: each List parses the text of those in
// it once more.
const maxNested = 16

// openList returns the objects in a List, and in nested Lists, like kubectl.
func openList(list *Document, h header) (docs []*Document, errs []error) {
	if list.nested == maxNested {
		return nil, []error{&Error{File: list.File, Line: list.Line, Err: fmt.Errorf(
			"a %s is nested in %d others: write its objects as documents, separated by ---", h.Kind, maxNested)}}
	}
	var items []jsontext.Value
	if err := json.Unmarshal(h.Items, &items); err != nil {
		return nil, []error{&Error{File: list.File, Line: list.Line, Err: fmt.Errorf("items of the %s: %w", h.Kind, err)}}
	}
	for i, item := range items {
		doc := &Document{File: list.File, JSON: item, listPath: list.inFile(fmt.Sprintf("items[%d]", i)), nested: list.nested + 1, at: list.at}
		doc.Line, _ = doc.Position("")
		d, e := open(doc, h)
		docs, errs = append(docs, d...), append(errs, e...)
	}
	return docs, errs
}
