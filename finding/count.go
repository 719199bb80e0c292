package finding

import "strconv"

// Count is a number with its noun, such as "1 pod" and "2 pods".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
