// Package tasks reads the commands of the documented tasks, so that tests can run
// them as users do: one after the other, as they are written.
//
// In a document, a line "<!-- task: NAME -->" precedes the commands of a task: an
// indented block, or a fenced block of a recording, whose commands follow "$ ".
// "<!-- task: NAME, status 1 -->" says with which status the last command ends.
// Several blocks may have one name.
package tasks
