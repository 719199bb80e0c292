package wellknown

// Prefixes of the annotations by which pods ask for templates. Both have the same
// meaning: the first is that of Initializers in 2017, the second usher's own.
const (
	InitializerPrefix = "initializer.kubernetes.io/"
	InjectPrefix      = "inject.usher.dev/"
)

// Labels of a namespace that select templates.
const (
	// LabelTemplates lists the templates for all pods of a namespace, separated by
	// dots. It is one fixed key, because selectors cannot match prefixes.
	LabelTemplates = InjectPrefix + "templates"
	// LabelRevisions selects revisions for the pods of a namespace:
	// <template>.<revision>[_<template>.<revision>].
	LabelRevisions = InjectPrefix + "revision"
)

// Labels of a ConfigMap that make it a template or a revision of one.
const (
	// LabelTemplate names the template.
	LabelTemplate = "usher.dev/template"
	// LabelRevisionOf names the template, LabelRevision its revision: a second
	// version of a template, next to the one that pods get. Its ConfigMap has
	// these two labels, and neither the name nor the label of a template: releases
	// without revisions would take it for a template.
	LabelRevisionOf = "usher.dev/revision-of"
	LabelRevision   = "usher.dev/revision"
)

// Annotations that usher writes on pods and workloads.
const (
	// AnnotationInjected on a pod records what was injected, as JSON.
	AnnotationInjected = "usher.dev/injected"
	// AnnotationCarried in a pod template lists the keys that usher copied there
	// from the workload's own metadata, separated by commas. The copies follow
	// their source; keys that the user wrote into the template do not.
	AnnotationCarried = "usher.dev/carried"
	// AnnotationOwnLabels on a pod lists the keys, separated by commas, of labels
	// that the pod had before a template with the same label was added to it. The
	// record does not tell them from the template's.
	AnnotationOwnLabels = "usher.dev/own-labels"
	// AnnotationHealed on a workload is the reason of its last restart:
	// <template>@<the end of the outage>, and several separated by commas.
	AnnotationHealed = "usher.dev/healed"
)
