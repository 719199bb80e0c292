package decision

import "fmt"

// A Step is one input that a decision considered.
type Step struct {
	Looked string `json:"looked"` // which key or object, and where
	Found  string `json:"found"`
	So     string `json:"so,omitempty"` // what follows
}

func (s Step) String() string {
	if s.So == "" {
		return fmt.Sprintf("%s: %s", s.Looked, s.Found)
	}
	return fmt.Sprintf("%s: %s: %s", s.Looked, s.Found, s.So)
}
