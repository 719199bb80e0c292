package podjson

import "bytes"

// MayContain reports whether one of an object's keys or strings may contain one
// of some texts, without decoding it. It may return true for an object that does
// not contain any. The texts consist of letters, digits and ".-/".
func MayContain(object []byte, texts ...string) bool {
	for _, text := range texts {
		if bytes.Contains(object, []byte(text)) {
			return true
		}
	}
	return escapesPlain(object)
}

// escapesPlain reports whether an object may write such texts with escapes. The
// managedFields of every object with containers have escaped quotation marks,
// which hide nothing.
func escapesPlain(object []byte) bool {
	for {
		i := bytes.IndexByte(object, '\\')
		if i < 0 || i+1 == len(object) {
			return false
		}
		if next := object[i+1]; next == 'u' || next == '/' {
			return true
		}
		object = object[i+2:]
	}
}
