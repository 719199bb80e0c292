package multus

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// written is the decoded part of an element of the long form; Multus ignores
// case.
type written struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Interface string `json:"interface"`
}

// parseLong parses a JSON list, and finds the end of its last element.
func parseLong(text string) (List, error) {
	list := List{text: text, form: long}
	dec := jsontext.NewDecoder(strings.NewReader(text))
	token, err := dec.ReadToken()
	if err != nil {
		return List{}, malformed(err)
	}
	if token.Kind() != '[' {
		return List{}, errors.New(`is neither names separated by commas nor a JSON list: write [namespace/]name[@interface],… or [{"name": …}]`)
	}
	list.end = int(dec.InputOffset())
	for i := 0; dec.PeekKind() != ']'; i++ {
		value, err := dec.ReadValue()
		if err != nil {
			return List{}, malformed(err)
		}
		var w written
		if err := json.Unmarshal(value, &w, json.MatchCaseInsensitiveNames(true)); err != nil || value.Kind() != '{' {
			return List{}, fmt.Errorf("has the element %d, %s, which is not an object with a name: write {\"name\": …}", i, quoted(string(value)))
		}
		s := Selection{Namespace: w.Namespace, Name: w.Name, Interface: w.Interface}
		if !s.valid() {
			return List{}, fmt.Errorf("has the element %d, %s, which names no network: write {\"name\": …, \"namespace\": …} with names of objects", i, quoted(string(value)))
		}
		list.Selections, list.end = append(list.Selections, s), int(dec.InputOffset())
	}
	if _, err := dec.ReadToken(); err != nil {
		return List{}, malformed(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return List{}, errors.New("is a JSON list followed by other text: write only the list")
	}
	return list, nil
}

func malformed(err error) error {
	return fmt.Errorf("is neither names separated by commas nor a JSON list (%w): write [namespace/]name[@interface],… or [{\"name\": …}]", err)
}
