package policies

// Others finds other objects of a kind that rules know in a namespace, or in
// Everywhere, for rules that judge an object by its surroundings. What it could
// not look at it names in unseen, as a clause that can stand in a finding;
// unseen is empty where found is complete.
type Others func(kind, namespace string) (found []*Object, unseen string)

// Everywhere stands for every namespace; files may name none.
const Everywhere = "*"

// others lists the objects of a kind in the object's namespace.
func (p *Pass) others(kind string) ([]*Object, string) {
	if p.Others == nil {
		return nil, "no other object could be seen"
	}
	return p.Others(kind, p.Meta.Namespace)
}

// everywhere lists the objects of a kind in every namespace.
func (p *Pass) everywhere(kind string) ([]*Object, string) {
	if p.Others == nil {
		return nil, "no other object could be seen"
	}
	return p.Others(kind, Everywhere)
}
