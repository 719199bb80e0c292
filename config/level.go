package config

import (
	"fmt"

	"github.com/usher-dev/usher/policies"
)

// A Level is a level of rules, or off.
type Level struct {
	// On is false where the level is off.
	On bool
	// Rules is the level where it is on.
	Rules policies.Level
}

// LevelOf is a level that is on.
func LevelOf(l policies.Level) Level { return Level{On: true, Rules: l} }

// ParseLevel reads invariant, baseline, strict or off.
func ParseLevel(name string) (Level, error) {
	if name == "off" {
		return Level{}, nil
	}
	l, err := policies.ParseLevel(name)
	if err != nil {
		return Level{}, fmt.Errorf("level %q is unknown: write invariant, baseline, strict or off", name)
	}
	return LevelOf(l), nil
}

// Includes reports whether rules of level l count.
func (l Level) Includes(other policies.Level) bool { return l.On && l.Rules.Includes(other) }

func (l Level) String() string {
	if !l.On {
		return "off"
	}
	return l.Rules.String()
}

// MarshalText writes the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads the level's name.
func (l *Level) UnmarshalText(text []byte) (err error) {
	*l, err = ParseLevel(string(text))
	return err
}

// LevelNames are the names of the levels that are on.
func LevelNames() []string {
	var names []string
	for _, l := range policies.Levels() {
		names = append(names, l.String())
	}
	return names
}
