// Package review serves AdmissionReviews: it reads a request within bounds of
// size, time and memory, decodes it, has its handler decide, and writes the
// answer.
//
// What is the object's fault is a denial with its reason. What is usher's own
// is a 5xx, so that the failurePolicy decides.
package review
