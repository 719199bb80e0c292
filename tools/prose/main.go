// Command prose checks texts against a list of words, and prints file:line of each
// hit:
//
//	prose [-root FOLDER] [-words FILE] [-comments=false] FILE...
//
// It checks the text of Markdown, without code and addresses, the descriptions of
// custom resource definitions and alerts, the comments of other YAML, and the strings
// and comments of Go. It exits with status 1 if it finds something.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("prose: ")
	root := flag.String("root", ".", "`folder` that the names of files start from")
	words := flag.String("words", "words.tsv", "`file` with the words")
	comments := flag.Bool("comments", true, "also check the comments of Go")
	flag.Parse()
	list, err := os.ReadFile(*words)
	if err != nil {
		log.Fatal(err)
	}
	rules, err := parseRules(string(list))
	if err != nil {
		log.Fatalf("%s: %v", *words, err)
	}
	hits := 0
	for _, name := range flag.Args() {
		text, err := os.ReadFile(filepath.Join(*root, name))
		if err != nil {
			log.Fatal(err)
		}
		for _, block := range blocks(name, string(text), *comments) {
			for _, hit := range check(rules, block) {
				fmt.Printf("%s:%d: %s\n", name, hit.line, hit.message)
				hits++
			}
		}
	}
	if hits > 0 {
		log.Printf("%d texts to rewrite; %s has the words, CONTRIBUTING.md the rules", hits, *words)
		os.Exit(1)
	}
}

// A rule is an expression that no text may match.
type rule struct {
	pattern, except *regexp.Regexp
	advice          string
}

// parseRules reads lines of an expression, advice, and optionally an expression for
// sentences that may match, separated by tabs.
func parseRules(text string) ([]rule, error) {
	var rules []rule
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) < 2 || len(fields) > 3 {
			return nil, fmt.Errorf("line %d has %d fields, want an expression, advice and perhaps exceptions", i+1, len(fields))
		}
		r := rule{advice: fields[1]}
		var err error
		if r.pattern, err = regexp.Compile(fields[0]); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if len(fields) == 3 {
			if r.except, err = regexp.Compile(fields[2]); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// A hit is a text that a rule matches.
type hit struct {
	line    int
	message string
}

// semicolons is how many a paragraph may have.
const semicolons = 1

var sentenceEnd = regexp.MustCompile(`[.?!](\s|$)`)

func check(rules []rule, b block) []hit {
	text := strings.Join(b.lines, "\n")
	var hits []hit
	for _, r := range rules {
		for _, at := range r.pattern.FindAllStringIndex(text, -1) {
			if r.except != nil && r.except.MatchString(sentence(text, at[0], at[1])) {
				continue
			}
			line := b.line + strings.Count(text[:at[0]], "\n")
			hits = append(hits, hit{line, fmt.Sprintf("%q: %s", strings.Join(strings.Fields(text[at[0]:at[1]]), " "), r.advice)})
		}
	}
	if n := strings.Count(text, ";"); b.paragraph && n > semicolons {
		hits = append(hits, hit{b.line, fmt.Sprintf("%d semicolons in a paragraph: write sentences", n)})
	}
	return hits
}

// sentence returns the sentence around a match, with its full stop.
func sentence(text string, begin, end int) string {
	start := 0
	for _, at := range sentenceEnd.FindAllStringIndex(text[:begin], -1) {
		start = at[1]
	}
	if at := sentenceEnd.FindStringIndex(text[end:]); at != nil {
		return text[start : end+at[0]+1]
	}
	return text[start:]
}
