package policies

// undecodable-object: a value has another type than its field, so that the
// object does not decode into its kind.
//
// The API server answers such an object with 400 before it looks any further.
// Fields that the kind does not have are no finding: the server drops them,
// unless the client asked for strict validation.
func init() {
	register(Rule{
		ID:              "undecodable-object",
		Level:           Invariant,
		Kinds:           knownKinds(),
		Summary:         "A value does not fit its field",
		Harm:            "the API server answers 400 Bad Request; nothing is created",
		Fix:             "write a value of the field's type",
		RefusedByServer: true,
		Check: func(p *Pass) {
			for _, u := range p.undecodable {
				p.Report(u.path, u.value, subject(u.path, "the object")+" "+u.message)
			}
		},
	})
}
