package store

// Behind is what is at the other end of a connection: usher's words for the
// reasons that it gives.
type Behind struct {
	// Pod names the pod there, for people.
	Pod string
	// Says describes the reasons that the pod may give.
	Says map[Reason]string
	// Otherwise describes every other failure.
	Otherwise string
}

// BehindClaim is a folder on a claim.
func BehindClaim() Behind {
	return Behind{Pod: "the volume's pod", Otherwise: "the volume cannot be read or written, or is full", Says: map[Reason]string{
		NotFound: "it does not exist",
		NoBucket: "the folder does not exist",
		Denied:   "user and group 65532 lack the permission on the volume",
	}}
}

// BehindAccount is a bucket that a pod under a ServiceAccount reaches.
func BehindAccount(account string) Behind {
	return Behind{Pod: "the pod of the ServiceAccount " + account, Otherwise: "the store does not answer that pod, or not as an S3 server does; the pod's log says more", Says: map[Reason]string{
		NotFound:   "it does not exist",
		NoBucket:   "the bucket does not exist: create it, or write another one in path",
		NoIdentity: "the cloud gives the ServiceAccount " + account + " no credentials: check the role that it names, and that the role's trust policy names the ServiceAccount",
		Denied:     "the role of the ServiceAccount " + account + " lacks the permission, or the bucket is in another region than region says",
	}}
}

// refusal describes the reason that the other end gave. A user may change the
// pod there, so any other reason counts as none.
func (b Behind) refusal(reason Reason) (Reason, string) {
	if words, ok := b.Says[reason]; ok {
		return reason, words
	}
	return Unavailable, b.Otherwise
}
