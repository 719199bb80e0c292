package main

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// An element is what a browser would make of a part of a page.
type element struct{ *html.Node }

// parsed parses a page, and checks what holds for every page: it loads nothing,
// and its policy allows its own style and script only.
func parsed(t *testing.T, page string) element {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	e := element{root}
	var policy string
	ids := map[string]int{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		known := []string{"a", "b", "body", "button", "code", "dd", "del", "details", "div", "dl", "dt", "footer", "h1", "h2", "h3", "head", "header", "html", "i", "input", "ins", "label",
			"li", "main", "mark", "meta", "ol", "p", "pre", "rect", "script", "search", "section", "span", "style", "summary", "svg", "table", "tbody", "td", "th", "thead", "title", "tr", "ul"}
		if !slices.Contains(known, n.Data) {
			t.Errorf("unexpected element <%s>", n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "src", a.Key == "action":
				t.Errorf("<%s> has the attribute %s=%q", n.Data, a.Key, a.Val)
			case a.Key == "href" && !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "https://github.com/usher-dev/usher/"):
				t.Errorf("<%s> links to %q", n.Data, a.Val)
			case a.Key == "id":
				if ids[a.Val]++; ids[a.Val] > 1 {
					t.Errorf("two elements have the id %q", a.Val)
				}
			case a.Key == "content" && (element{n}).attribute("http-equiv") == "Content-Security-Policy":
				policy = a.Val
			}
		}
	}
	want := "default-src 'none'; script-src " + sum(e.texts("script")...) + "; style-src " + sum(e.texts("style")...) + "; base-uri 'none'; form-action 'none'"
	if policy != want {
		t.Errorf("policy %q, want %q", policy, want)
	}
	return e
}

func sum(texts ...string) string {
	all := make([]string, 0, len(texts))
	for _, text := range texts {
		hash := sha256.Sum256([]byte(text))
		all = append(all, "'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'")
	}
	return strings.Join(all, " ")
}

func (e element) attribute(key string) string {
	for _, a := range e.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// all returns the elements with a name, or with an attribute ("[name]").
func (e element) all(name string) []element {
	attribute, byAttribute := strings.CutPrefix(strings.TrimSuffix(name, "]"), "[")
	var found []element
	for n := range e.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if byAttribute && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == attribute }) || !byAttribute && n.Data == name {
			found = append(found, element{n})
		}
	}
	return found
}

// text is the text in an element, without scripts and styles in it.
func (e element) text() string {
	var b strings.Builder
	for n := range e.Descendants() {
		if n.Type == html.TextNode && (n.Parent == e.Node || n.Parent.Data != "script" && n.Parent.Data != "style") {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

func (e element) texts(name string) []string {
	var texts []string
	for _, found := range e.all(name) {
		texts = append(texts, found.text())
	}
	return texts
}

// words are the texts of elements, with single spaces.
func (e element) words(name string) []string {
	texts := e.texts(name)
	for i, text := range texts {
		texts[i] = strings.Join(strings.Fields(text), " ")
	}
	return texts
}
