// Package markdown writes text of users into GitHub's Markdown, so that it is
// shown as it is: it forms no markup, mentions nobody and links nowhere.
package markdown

import (
	"html"
	"strings"
	"unicode"
)

// Code writes text as a code span that can be in a cell of a table.
func Code(text string) string {
	text = oneLine(text)
	if strings.TrimSpace(text) == "" {
		return "` `"
	}
	fence := strings.Repeat("`", longestRun(text)+1)
	if text[0] == '`' || text[len(text)-1] == '`' || text[0] == ' ' && text[len(text)-1] == ' ' {
		text = " " + text + " " // a renderer removes one space on each side
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}

// Prose writes text that can be in a cell of a table.
func Prose(text string) string { return prose.Replace(oneLine(text)) }

// GitHub looks for mentions and references in the rendered text, where only a
// comment separates the sign from the name.
var prose = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`, "[", `\[`, "]", `\]`, "|", `\|`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "@<!-- -->", "#", "#<!-- -->", "://", ":<!-- -->//",
)

// HTML writes text into an HTML element that Markdown does not look into.
func HTML(text string) string { return html.EscapeString(oneLine(text)) }

// Fenced writes a shell command as a block with a button to copy it. indent is
// the indentation of the lines after the first.
func Fenced(command, indent string) string {
	fence := strings.Repeat("`", max(3, longestRun(command)+1))
	return fence + "sh\n" + indent + oneLine(command) + "\n" + indent + fence + "\n"
}

// oneLine replaces line breaks and control characters with spaces.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}

// longestRun returns the length of the longest run of backticks.
func longestRun(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
