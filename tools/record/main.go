// Command record runs the commands that the documents show, and writes what they
// print: into the documents, and as an SVG of a terminal.
//
//	record [-svg FILE -session FILE] [DOCUMENT...]
//
// In a document, a line "<!-- run: COMMAND -->" precedes a fenced block, which record
// replaces by the command and its output. A session holds one command in each line.
// Commands run in bash, in the current folder, with the PATH of the caller.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("record: ")
	svg := flag.String("svg", "", "write the terminal to this `file`")
	session := flag.String("session", "", "`file` with the commands of the terminal")
	flag.Parse()
	for _, name := range flag.Args() {
		if err := rewrite(name, func(text string) (string, error) { return document(text, run) }); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
	}
	if *svg == "" {
		return
	}
	commands, err := os.ReadFile(*session)
	if err != nil {
		log.Fatal(err)
	}
	picture, err := terminal(strings.Split(strings.TrimSpace(string(commands)), "\n"), run)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*svg, []byte(picture), 0o644); err != nil {
		log.Fatal(err)
	}
}

// run returns the command's standard output and standard error. Several of the
// commands end with a status other than 0, because they report findings.
func run(command string) (string, error) {
	cmd := exec.Command("bash", "-c", command)
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 {
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return strings.TrimRight(string(out), "\n"), nil
}

func rewrite(name string, edit func(string) (string, error)) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	edited, err := edit(string(text))
	if err != nil || edited == string(text) {
		return err
	}
	return os.WriteFile(name, []byte(edited), 0o644)
}

const (
	mark  = "<!-- run: "
	fence = "```"
)

// document returns the text with the output of its commands.
func document(text string, run func(string) (string, error)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, mark)
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		command, rest, closed := strings.Cut(rest, " -->\n"+fence+"console\n")
		_, after, ended := strings.Cut(rest, "\n"+fence+"\n")
		if !closed || !ended {
			return "", fmt.Errorf("%q has no block after it: write %sCOMMAND -->, and %sconsole in the next line", firstLine(command), mark, fence)
		}
		out, err := run(command)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s%s -->\n%sconsole\n$ %s\n%s\n%s\n", mark, command, fence, command, out, fence)
		text = after
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// How long a picture shows a command before its output, each line of output before
// the next one, and all of it before the next command, in milliseconds.
const (
	toRun   = 900
	toPrint = 60
	toRead  = 2500
)

// columns is the width of the terminal; longer lines wrap as in a terminal.
const columns = 100

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// terminal returns a picture of the commands and their output, which appear one
// after the other.
func terminal(commands []string, run func(string) (string, error)) (string, error) {
	// at is when the line appears, in milliseconds.
	type line struct {
		class, text string
		at          int
	}
	var lines []line
	at := 0
	for i, command := range commands {
		out, err := run(command)
		if err != nil {
			return "", err
		}
		if i > 0 {
			lines = append(lines, line{})
			at += toRead
		}
		for _, part := range wrap("$ " + command) {
			lines = append(lines, line{"command", part, at})
		}
		at += toRun
		for _, text := range strings.Split(out, "\n") {
			class := "out"
			switch {
			case strings.HasPrefix(text, "+"), strings.HasPrefix(text, ">"):
				class = "added"
			case strings.Contains(text, "invariant: "), strings.Contains(text, "refused"), strings.Contains(text, "irreversible"):
				class = "bad"
			}
			for _, part := range wrap(text) {
				lines = append(lines, line{class, part, at})
			}
			at += toPrint
		}
	}
	const top, pitch = 44, 18
	width, height := columns*8+40, top+pitch*len(lines)+16
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="A terminal with usher's commands and their output">
<style>
text { font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d0d7de; white-space: pre; }
.command { fill: #ffffff; font-weight: bold; }
.added { fill: #7ee787; }
.bad { fill: #ffa198; }
@keyframes appear { from { visibility: hidden; } to { visibility: visible; } }
@media (prefers-reduced-motion: no-preference) { text { animation: appear 1ms backwards; } }
</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
<circle cx="20" cy="18" r="6" fill="#ff5f56"/><circle cx="40" cy="18" r="6" fill="#ffbd2e"/><circle cx="60" cy="18" r="6" fill="#27c93f"/>
`, width, height, width, height)
	for i, l := range lines {
		if l.text != "" {
			fmt.Fprintf(&b, "<text x=\"16\" y=\"%d\" class=\"%s\" style=\"animation-delay:%dms\" xml:space=\"preserve\">%s</text>\n", top+pitch*i+8, l.class, l.at, escape.Replace(l.text))
		}
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

// wrap breaks a line at the width of the terminal, at a space where there is one.
func wrap(text string) []string {
	text = strings.ReplaceAll(text, "\t", "        ")
	var parts []string
	for runes := []rune(text); ; {
		if len(runes) <= columns {
			return append(parts, string(runes))
		}
		end := columns
		if space := strings.LastIndex(string(runes[:columns]), " "); space > columns/2 {
			end = len([]rune(string(runes[:columns])[:space])) + 1
		}
		parts = append(parts, string(runes[:end]))
		runes = append([]rune("    "), runes[end:]...)
	}
}
