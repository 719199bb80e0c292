// Package review serves AdmissionReviews: it reads a request within limits of
// size, time and memory, decodes it, calls its handler, and writes the
// response.
//
// A fault of the object is a denial with its reason. A fault of usher is a 5xx,
// so that the failurePolicy decides.
package review
