package manifest

import (
	"bytes"
	"strings"
)

// hasOddNumber reports whether YAML may have a number that JSON writes differently,
// without parsing it. It may return true for a text that has none.
func hasOddNumber(text []byte) bool {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c != '+' && c != '-' && c != '.' && !digit(c):
		case strings.IndexByte(" \n[,{\t\r\f", text[i-1]) < 0 && !bytes.HasSuffix(text[:i], []byte(`":`)):
		case oddNumber(text[i:]):
			return true
		}
	}
	return false
}

// oddNumber reports whether a text begins with a number that JSON may write
// differently: 1.10, 0644, +1, 1e3, -0, or one of many digits.
func oddNumber(text []byte) bool {
	at := func(i int) byte {
		if i < len(text) {
			return text[i]
		}
		return 0
	}
	switch {
	case at(0) == '+':
		return digit(at(1)) || at(1) == '.'
	case at(0) == '-' && at(1) == '0':
		return true
	case at(0) == '-':
		text = text[1:]
	}
	switch {
	case at(0) == '.':
		return digit(at(1))
	case at(0) == '0' && (digit(at(1)) || at(1) != 0 && strings.IndexByte("xobXOB_", at(1)) >= 0):
		return true
	}
	n := 0
	for digit(at(n)) {
		n++
	}
	return n >= 16 || n > 0 && at(n) != 0 && strings.IndexByte("._eE", at(n)) >= 0
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
