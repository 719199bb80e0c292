// Package page writes results as one HTML file that needs no network: its style
// and script are in it, and its Content-Security-Policy allows nothing else.
package page

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // the layout, the style and the script
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

var (
	//go:embed layout.html
	layout string
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

// policy allows the page's own style and script. Forms and other base URLs are
// not covered by default-src.
var policy = fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; base-uri 'none'; form-action 'none'", hash(script), hash(style))

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// A Page is the template of a page.
type Page struct{ template *template.Template }

// New returns a page from the text of a template that defines "summary",
// "filters", "results" and "notes". The function text in it makes a user's text
// printable: every value that comes from a manifest must pass through it.
func New(body string) *Page {
	t := template.New("layout").Funcs(template.FuncMap{"text": Text, "code": Code, "number": Number, "count": Count})
	return &Page{template.Must(template.Must(t.Parse(layout)).Parse(body))}
}

// A frame is what the layout needs.
type frame struct {
	Title, Program, Policy string
	Style                  template.CSS
	Script                 template.JS
	Data                   any
}

// Write writes the page. program names what made it.
func (p *Page) Write(w io.Writer, title, program string, data any) error {
	return p.template.Execute(w, frame{title, program, policy, template.CSS(style), template.JS(script), data})
}

// Number formats a number with thousands separators.
func Number(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Count formats a number of things: "1 file", "2 files".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Number(n) + " " + thing
}

// maxText limits a text, in characters.
const maxText = 2000

// Text makes a user's text printable: control characters, and characters that
// change the direction of the text around them, become U+FFFD. Line breaks and
// tabs stay.
func Text(text string) string {
	count := 0
	for i := range text {
		if count++; count > maxText {
			text = text[:i] + "…"
			break
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// Code is Text in which words between backticks are code.
func Code(text string) template.HTML {
	var b strings.Builder
	parts := strings.Split(Text(text), "`")
	for i, part := range parts {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 && i < len(parts)-1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

// A Facet is a property by which a reader filters the results.
type Facet struct {
	// Key is its name in the address, Title the one for readers.
	Key, Title string
	// ByCount sorts the values: the most frequent first, instead of in the order
	// in which they were added.
	ByCount bool

	values []Value
	index  map[string]int
}

// A Value is a value of a facet.
type Value struct {
	// Value is its name in the address, Label the one for readers.
	Value, Label string
	// Class selects its colour.
	Class string
	Count int
	// Index is what the results have for it.
	Index int
}

// Add counts a result with a value, and returns the index of the value.
func (f *Facet) Add(v Value) int {
	i, ok := f.index[v.Value]
	if !ok {
		if f.index == nil {
			f.index = map[string]int{}
		}
		i = len(f.values)
		f.index[v.Value] = i
		v.Index, v.Count = i, 0
		f.values = append(f.values, v)
	}
	f.values[i].Count++
	return i
}

// Values are the values in the order in which a reader sees them.
func (f *Facet) Values() []Value {
	values := slices.Clone(f.values)
	if f.ByCount {
		slices.SortFunc(values, func(a, b Value) int {
			return cmp.Or(b.Count-a.Count, strings.Compare(a.Label, b.Label))
		})
	}
	return values
}

// Largest is the largest count of a value, the length of the longest bar.
func (f *Facet) Largest() int {
	largest := 1
	for _, v := range f.values {
		largest = max(largest, v.Count)
	}
	return largest
}
