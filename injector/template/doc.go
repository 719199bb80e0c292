// Package template parses the templates that pods get from the data of their
// ConfigMaps, and checks each with nothing but itself.
package template
