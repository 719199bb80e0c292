package attachment

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// written is what is read of an element of the long form; Multus minds no case.
type written struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Interface string `json:"interface"`
}

// parseLong reads a JSON list, and where its last element ends.
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
			return List{}, fmt.Errorf("has the element %d, %s, which is no object with a name: write {\"name\": …}", i, quoted(string(value)))
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
		return List{}, errors.New("is a JSON list with something behind it: write the list alone")
	}
	return list, nil
}

func malformed(err error) error {
	return fmt.Errorf("is neither names separated by commas nor a JSON list (%w): write [namespace/]name[@interface],… or [{\"name\": …}]", err)
}
