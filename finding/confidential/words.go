package confidential

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words are the confidential values of objects, to be concealed in the words of a
// component that quotes what it was given.
type Words struct {
	hidden, shown map[string]bool
	sorted        []string
}

const (
	// shortest is the length of a value that is concealed where it is quoted. A shorter
	// one says nothing.
	shortest = 3
	// anywhere is the length of a value that is concealed also as a part of a word.
	anywhere = 8
)

// Of collects the values of objects in JSON. A value that an object also has in the
// open is not confidential.
func Of(objects ...[]byte) *Words {
	w := &Words{}
	for _, object := range objects {
		var value any
		d := json.NewDecoder(strings.NewReader(string(object)))
		d.UseNumber()
		if d.Decode(&value) == nil {
			w.show(w.Add(value))
		}
	}
	return w
}

// Add adds the values of a decoded object, and returns its other values.
func (w *Words) Add(object any) (open any) {
	kind := ""
	if fields, ok := object.(map[string]any); ok {
		kind, _ = fields["kind"].(string)
	}
	open = conceal(object, root(kind), func(value any) any {
		w.Hide(fmt.Sprint(value))
		return nil
	})
	if isSecret(kind) {
		w.keys(object)
	}
	return open
}

// dataKey is a key that a Secret may have.
var dataKey = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// keys adds the keys of a Secret that cannot be keys: they may be a part of a value,
// such as a line of a file without an equals sign.
func (w *Words) keys(object any) {
	fields, _ := object.(map[string]any)
	for _, field := range []string{"data", "stringData"} {
		data, _ := fields[field].(map[string]any)
		for key := range data {
			if !dataKey.MatchString(key) {
				w.Hide(key)
			}
		}
	}
}

// Hide adds a value, its base64 form, and what it is the base64 form of.
func (w *Words) Hide(value string) {
	if w.hidden == nil {
		w.hidden = map[string]bool{}
	}
	w.sorted = nil
	for _, form := range []string{value, strings.TrimSpace(value), fmt.Sprintf("%q", value), base64.StdEncoding.EncodeToString([]byte(value))} {
		if form = strings.Trim(form, `"`); len(form) >= shortest {
			w.hidden[form] = true
		}
	}
	if plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value)); err == nil && len(plain) >= shortest && utf8.Valid(plain) {
		w.hidden[string(plain)] = true
	}
}

// show adds the values and names that the object has in the open.
func (w *Words) show(value any) {
	if w.shown == nil {
		w.shown = map[string]bool{}
	}
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			if dataKey.MatchString(name) {
				w.shown[name] = true
			}
			w.show(field)
		}
	case []any:
		for _, item := range v {
			w.show(item)
		}
	case nil:
	default:
		text := fmt.Sprint(v)
		w.shown[text] = true
		for _, separators := range []string{"/", "/.:@"} { // such as the group in apiVersion, and its words
			for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
				w.shown[part] = true
			}
		}
	}
}

// Conceal returns a text with the mark in the place of each value.
func (w *Words) Conceal(text string) string {
	if w == nil || len(w.hidden) == 0 || text == "" {
		return text
	}
	if w.sorted == nil {
		for value := range w.hidden {
			if !w.shown[value] {
				w.sorted = append(w.sorted, value)
			}
		}
		slices.SortFunc(w.sorted, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	}
	for _, value := range w.sorted {
		text = replace(text, value)
	}
	return text
}

// replace replaces a value: a long one anywhere, another one where it is a word, or
// quoted.
func replace(text, value string) string {
	if len(value) >= anywhere {
		return strings.ReplaceAll(text, value, Mark)
	}
	var b strings.Builder
	for from := 0; ; {
		at := strings.Index(text[from:], value)
		if at < 0 {
			b.WriteString(text[from:])
			return b.String()
		}
		at += from
		end := at + len(value)
		b.WriteString(text[from:at])
		if whole(text, at, end, len(value) < anywhere-2) {
			b.WriteString(Mark)
		} else {
			b.WriteString(value)
		}
		from = end
	}
}

// whole reports whether a part of a text is a word, or quoted.
func whole(text string, from, to int, quoted bool) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	if quoted {
		const quotes = "\"'`\\"
		return strings.ContainsRune(quotes, before) && strings.ContainsRune(quotes, after)
	}
	letter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return !letter(before) && !letter(after)
}
