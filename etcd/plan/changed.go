package plan

// StillChanged returns the status about a member before the step: that the
// controller changed it while it served, and that it has not served since.
func StillChanged(m *Member, step *Step) bool {
	if step != nil && step.Member == m.Name && (step.Action == Upgrade || step.Action == Restart) && m.Answers {
		return true
	}
	return m.Changed && !m.Ready()
}
