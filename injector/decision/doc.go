// Package decision is the form of a decision about an object: the namespaces in
// which usher decides, and the reasons, problems, steps and patch of the result.
package decision
