package manifest

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// odd describes the numbers that hasOddNumber finds.
var odd = regexp.MustCompile(`(?:[\s\[,{]|":)(?:\+[0-9.]|-?(?:\.[0-9]|0[0-9xobXOB_]|[0-9]+[._eE]|[0-9]{16})|-0)`)

func TestHasOddNumber_AgreesWithItsDescription(t *testing.T) {
	const letters = "+-.0189_eExoB[,{\":\n\t\f\r a"
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 200_000 {
		var b strings.Builder
		for range random.IntN(9) {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		if random.IntN(10) == 0 {
			b.WriteString(strings.Repeat("7", 12+random.IntN(6)))
		}
		text := b.String()
		want := odd.MatchString(text)
		if got := hasOddNumber([]byte(text)); got != want {
			t.Fatalf("hasOddNumber(%q) = %t, want %t", text, got, want)
		}
		if want {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("only %d texts have such a number", found)
	}
}
