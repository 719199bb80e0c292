package related

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// A Selector selects pods by their labels.
type Selector struct {
	// required are the labels of which a pod needs one of each list.
	required [][]Label
	// whole is the selector if it has more than matchLabels, else nil.
	whole labels.Selector
}

// NewSelector returns a selector, or the error that makes it invalid.
func NewSelector(written *metav1.LabelSelector) (*Selector, error) {
	s := &Selector{required: make([][]Label, 0, len(written.MatchLabels))}
	one := make([]Label, 0, len(written.MatchLabels))
	for key, value := range written.MatchLabels {
		one = append(one, Label{key, value})
		s.required = append(s.required, one[len(one)-1:len(one):len(one)])
	}
	if len(written.MatchExpressions) == 0 {
		return s, nil
	}
	for _, r := range written.MatchExpressions {
		if r.Operator != metav1.LabelSelectorOpIn {
			continue
		}
		accepted := make([]Label, len(r.Values))
		for i, value := range r.Values {
			accepted[i] = Label{r.Key, value}
		}
		slices.SortFunc(accepted, Label.compare)
		s.required = append(s.required, slices.Compact(accepted))
	}
	var err error
	if s.whole, err = metav1.LabelSelectorAsSelector(written); err != nil {
		return nil, err
	}
	return s, nil
}

// Matches reports whether the selector selects pods with these labels.
func (s *Selector) Matches(pods *Labels) bool {
	if s.whole != nil {
		return s.whole.Matches(pods)
	}
	for _, one := range s.required {
		if value, exists := pods.Lookup(one[0].Key); !exists || value != one[0].Value {
			return false
		}
	}
	return true
}
