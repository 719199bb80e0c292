package policies

import "fmt"

// A Level says how bad a finding is. Levels nest: whoever asks for Strict gets
// the Baseline and Invariant rules too.
type Level uint8

const (
	// Invariant marks what cannot work, or what the API server refuses.
	Invariant Level = iota + 1
	// Baseline marks what will hurt in operation.
	Baseline
	// Strict marks a departure from good practice.
	Strict
)

// Levels returns every level, the worst first.
func Levels() []Level { return []Level{Invariant, Baseline, Strict} }

// ParseLevel reads a level by its name.
func ParseLevel(name string) (Level, error) {
	for _, l := range Levels() {
		if l.String() == name {
			return l, nil
		}
	}
	return 0, fmt.Errorf("level %q is unknown: write invariant, baseline or strict", name)
}

func (l Level) String() string {
	switch l {
	case Invariant:
		return "invariant"
	case Baseline:
		return "baseline"
	case Strict:
		return "strict"
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}

// Includes reports whether findings of level other are asked for by l.
func (l Level) Includes(other Level) bool { return other <= l }

// MarshalText writes the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads the level's name.
func (l *Level) UnmarshalText(text []byte) (err error) {
	*l, err = ParseLevel(string(text))
	return err
}
