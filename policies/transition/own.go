package transition

// Own returns the transitions of usher's custom resources. Their controllers
// use it, too: a webhook sees the object, and the controllers see its actual
// state.
func Own() []Kind {
	return []Kind{etcdCluster(), network()}
}
