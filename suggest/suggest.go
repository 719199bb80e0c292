// Package suggest finds the known word that a user probably meant.
package suggest

import (
	"slices"
	"strings"
)

// Nearest returns the known word that differs from an unknown one by at most two
// letters, and at most half of them; or "".
func Nearest(word string, known []string) string {
	if slices.Contains(known, word) {
		return word
	}
	best, least := "", 3
	for _, k := range known {
		if d := Distance(strings.ToLower(word), strings.ToLower(k)); d < least && 2*d <= len(word) {
			best, least = k, d
		}
	}
	return best
}

// Instead says what to write instead of an unknown word: the nearest known word,
// or otherwise one of all.
func Instead(word string, known []string) string {
	if nearest := Nearest(word, known); nearest != "" {
		return "did you mean " + nearest + "?"
	}
	return "write " + List(known, "or")
}

// Question asks whether the nearest known word was meant, after a separator;
// without such a word it is empty.
func Question(separator, word string, known []string) string {
	if nearest := Nearest(word, known); nearest != "" {
		return separator + "did you mean " + nearest + "?"
	}
	return ""
}

// List joins words with commas, and the last one with a conjunction.
func List(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + conjunction + " " + words[len(words)-1]
}

// Distance is the Levenshtein distance: the number of added, removed or changed
// letters.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
