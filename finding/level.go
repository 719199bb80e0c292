package finding

import (
	"fmt"

	"github.com/usher-dev/usher/suggest"
)

// A Level is the severity of a finding, and what a namespace asks for. Levels
// nest: a namespace that asks for Strict also gets the findings of Baseline and
// Invariant.
type Level uint8

const (
	// Off asks for no findings; findings never have this level.
	Off Level = iota
	// Invariant is for objects that cannot work, or that the API server refuses.
	Invariant
	// Baseline is for objects that will cause problems in operation.
	Baseline
	// Strict is for departures from good practice.
	Strict
)

// Levels returns the levels that findings have, the most severe first.
func Levels() []Level { return []Level{Invariant, Baseline, Strict} }

// LevelNames returns the names of the levels that findings have.
func LevelNames() []string {
	names := make([]string, 0, len(Levels()))
	for _, l := range Levels() {
		names = append(names, l.String())
	}
	return names
}

// ParseLevel parses invariant, baseline, strict or off.
func ParseLevel(name string) (Level, error) {
	for l := Off; l <= Strict; l++ {
		if l.String() == name {
			return l, nil
		}
	}
	return Off, fmt.Errorf("level %q is unknown: %s", name, suggest.Instead(name, append(LevelNames(), Off.String())))
}

func (l Level) String() string {
	switch l {
	case Off:
		return "off"
	case Invariant:
		return "invariant"
	case Baseline:
		return "baseline"
	case Strict:
		return "strict"
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}

// Includes reports whether l asks for findings of level other.
func (l Level) Includes(other Level) bool { return other != Off && other <= l }

// MarshalText returns the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText parses the level's name.
func (l *Level) UnmarshalText(text []byte) (err error) {
	*l, err = ParseLevel(string(text))
	return err
}
