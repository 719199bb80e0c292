// Package wellknown has every key that usher reads or writes on objects: labels,
// annotations and finalizers. It imports nothing, so that whoever needs only a
// key links only the key.
package wellknown
