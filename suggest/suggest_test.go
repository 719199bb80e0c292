package suggest

import "testing"

func TestInstead(t *testing.T) {
	formats := []string{"text", "json", "yaml"}
	for word, want := range map[string]string{
		"jsn":    "did you mean json?",
		"YAML":   "did you mean yaml?",
		"yml":    "did you mean yaml?",
		"xml":    "write text, json or yaml",
		"":       "write text, json or yaml",
		"t":      "write text, json or yaml",
		"jsonnn": "did you mean json?",
		"table":  "write text, json or yaml",
	} {
		if got := Instead(word, formats); got != want {
			t.Errorf("Instead(%q) = %q, want %q", word, got, want)
		}
	}
	if got, want := Instead("a", []string{"one"}), "write one"; got != want {
		t.Errorf("one word: %q, want %q", got, want)
	}
}

func TestQuestion(t *testing.T) {
	known := []string{"envoy", "logs"}
	for word, want := range map[string]string{"evnoy": "; did you mean envoy?", "log": "; did you mean logs?", "istio": ""} {
		if got := Question("; ", word, known); got != want {
			t.Errorf("Question(%q) = %q, want %q", word, got, want)
		}
	}
}
