package main

import (
	"go/scanner"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A block is text that belongs together.
type block struct {
	// line is the number of the first line.
	line  int
	lines []string
	// paragraph marks running text, in contrast to the row of a table.
	paragraph bool
}

// blocks returns the texts of a file, by its kind. Of Go they are only the strings if
// comments is false.
func blocks(name, text string, comments bool) []block {
	switch {
	case strings.Contains(name, ".md"), filepath.Ext(name) == ".txt":
		return markdown(text)
	case filepath.Ext(name) == ".go":
		return golang(text, comments)
	case strings.Contains(text, "kind: CustomResourceDefinition"), strings.Contains(text, "\ngroups:\n"):
		return descriptions(text)
	}
	return yamlComments(text)
}

var (
	code     = regexp.MustCompile("`[^`]*`")
	address  = regexp.MustCompile(`\]\([^)]*\)|<!--.*?-->|https?://\S+`)
	listItem = regexp.MustCompile(`^\s*([-*]|\d+\.) `)
)

// prose removes code and addresses from a line.
func prose(line string) string {
	return code.ReplaceAllString(address.ReplaceAllString(line, "]"), "CODE")
}

func markdown(text string) []block {
	var list []block
	fenced, open := false, false
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced, open = !fenced, false
		case fenced, trimmed == "", strings.HasPrefix(line, "    ") && !open && !listItem.MatchString(line):
			open = false
		case strings.HasPrefix(trimmed, "|"), strings.HasPrefix(line, "#"):
			for cell := range strings.SplitSeq(strings.Trim(trimmed, "|"), " | ") {
				list = append(list, block{line: i + 1, lines: []string{prose(strings.TrimSpace(strings.TrimLeft(cell, "#")))}})
			}
			open = false
		case open && !listItem.MatchString(line):
			last := &list[len(list)-1]
			last.lines = append(last.lines, prose(trimmed))
		default:
			item := listItem.FindString(line)
			list = append(list, block{line: i + 1, lines: []string{prose(strings.TrimSpace(line[len(item):]))}, paragraph: true})
			open = true
		}
	}
	return list
}

var description = regexp.MustCompile(`^(\s*)(?:- )?(?:description|message|summary): ?(.*)$`)

// descriptions are those of a custom resource definition, or of alerts.
func descriptions(text string) []block {
	var list []block
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		found := description.FindStringSubmatch(lines[i])
		if found == nil {
			continue
		}
		b := block{line: i + 1, lines: []string{prose(strings.Trim(found[2], `|->'"`))}}
		for i+1 < len(lines) && (strings.HasPrefix(lines[i+1], found[1]+"  ") || strings.TrimSpace(lines[i+1]) == "") {
			i++
			b.lines = append(b.lines, prose(strings.TrimSpace(lines[i])))
		}
		list = append(list, b)
	}
	return list
}

// yamlComments are those that fill a line.
func yamlComments(text string) []block {
	var list []block
	open := false
	for i, line := range strings.Split(text, "\n") {
		comment, found := strings.CutPrefix(strings.TrimSpace(line), "#")
		comment, starts := strings.CutPrefix(strings.TrimSpace(comment), "-- ")
		switch {
		case !found:
			open = false
		case open && !starts:
			last := &list[len(list)-1]
			last.lines = append(last.lines, prose(comment))
		default:
			list = append(list, block{line: i + 1, lines: []string{prose(comment)}, paragraph: true})
			open = true
		}
	}
	return list
}

// golang are the strings of Go that hold more than one word, such as help and
// messages, and the comments if they are wanted.
func golang(text string, comments bool) []block {
	var list []block
	var s scanner.Scanner
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	s.Init(file, []byte(text), func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, literal := s.Scan()
		switch tok {
		case token.EOF:
			return list
		case token.COMMENT:
			if !comments {
				continue
			}
			comment := strings.TrimPrefix(literal, "//")
			line := files.Position(pos).Line
			if n := len(list) - 1; n >= 0 && list[n].line+len(list[n].lines) == line {
				list[n].lines = append(list[n].lines, prose(strings.TrimSpace(comment)))
				continue
			}
			list = append(list, block{line: line, lines: []string{prose(strings.TrimSpace(comment))}})
		case token.STRING:
			if value, err := strconv.Unquote(literal); err == nil && strings.Contains(value, " ") {
				list = append(list, block{line: files.Position(pos).Line, lines: strings.Split(prose(value), "\n")})
			}
		}
	}
}
