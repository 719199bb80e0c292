package markdown

import "testing"

func TestCode(t *testing.T) {
	for text, want := range map[string]string{
		"spec.replicas":       "`spec.replicas`",
		"a|b":                 "`a\\|b`",
		"a`b":                 "``a`b``",
		"``":                  "``` `` ```",
		" a ":                 "`  a  `",
		"":                    "` `",
		"a\nb\r\n| c":         "`a b  \\| c`",
		"<b>@all</b> #1":      "`<b>@all</b> #1`",
		"\x1b[31m":            "` [31m`",
		"next\u2028line":      "`next line`",
		`C:\` + "|":           "`C:\\\\|`",
		"</details> ```sh\n#": "````</details> ```sh #````",
	} {
		if got := Code(text); got != want {
			t.Errorf("Code(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestProse(t *testing.T) {
	for text, want := range map[string]string{
		"deletes every pod; wait": "deletes every pod; wait",
		"a|b\nc":                  `a\|b c`,
		"`x` *y* _z_ ~q~":         "\\`x\\` \\*y\\* \\_z\\_ \\~q\\~",
		"<img src=x> &lt;":        "&lt;img src=x&gt; &amp;lt;",
		"[a](https://b.example)":  `\[a\](https:<!-- -->//b.example)`,
		"@team closes #1":         "@<!-- -->team closes #<!-- -->1",
		`a\|b`:                    `a\\\|b`,
	} {
		if got := Prose(text); got != want {
			t.Errorf("Prose(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestFenced(t *testing.T) {
	for command, want := range map[string]string{
		"kubectl get pods":       "```sh\n  kubectl get pods\n  ```\n",
		"kubectl get\n```\n# me": "````sh\n  kubectl get ``` # me\n  ````\n",
	} {
		if got := Fenced(command, "  "); got != want {
			t.Errorf("Fenced(%q) = %q, want %q", command, got, want)
		}
	}
}

func TestHTML(t *testing.T) {
	if got, want := HTML("<b>\n&"), "&lt;b&gt; &amp;"; got != want {
		t.Errorf("HTML: %s, want %s", got, want)
	}
}
