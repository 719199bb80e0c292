package main

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

func echo(command string) (string, error) { return "ran " + command, nil }

func TestDocument_RunsTheCommandOfEachMark(t *testing.T) {
	got, err := document("before\n\n<!-- run: usher version -->\n```console\nold\n```\n\nafter\n", echo)
	want := "before\n\n<!-- run: usher version -->\n```console\n$ usher version\nran usher version\n```\n\nafter\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
	again, err := document(got, echo)
	if err != nil || again != got {
		t.Errorf("the second run changes the document: %q, %v", again, err)
	}
}

func TestDocument_MarkWithoutBlock_IsAnError(t *testing.T) {
	if _, err := document("<!-- run: usher version -->\ntext\n", echo); err == nil {
		t.Error("a mark without a block is accepted")
	}
}

func TestDocument_FailingCommand_IsAnError(t *testing.T) {
	fails := func(string) (string, error) { return "", errors.New("status 2") }
	if _, err := document("<!-- run: usher -->\n```console\n\n```\n", fails); err == nil {
		t.Error("a failing command is accepted")
	}
}

func TestTerminal_EscapesAndWraps(t *testing.T) {
	got, err := terminal([]string{"a <b"}, func(string) (string, error) { return strings.Repeat("word & ", 30), nil })
	if err != nil || !strings.Contains(got, "$ a &lt;b") || strings.Contains(got, "& ") {
		t.Errorf("got %s, %v", got, err)
	}
	for _, line := range strings.Split(got, "\n") {
		if text, found := strings.CutPrefix(line, "<text"); found && len(strings.ReplaceAll(text, "&amp;", "&")) > columns+110 {
			t.Errorf("the line is too long: %s", line)
		}
	}
}

func TestOutputAppearsAfterItsCommand(t *testing.T) {
	got, err := terminal([]string{"first", "second"}, func(command string) (string, error) { return "of " + command, nil })
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	for _, text := range []string{"$ first", "of first", "$ second", "of second"} {
		before, _, found := strings.Cut(got, ">"+text+"<")
		_, delay, _ := strings.Cut(before[strings.LastIndex(before, "<text"):], "animation-delay:")
		delay, _, _ = strings.Cut(delay, "ms")
		at, err := strconv.Atoi(delay)
		if !found || err != nil || at <= last {
			t.Errorf("%q appears at %q, not after %d", text, delay, last)
		}
		last = at
	}
}
