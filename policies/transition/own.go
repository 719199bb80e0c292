package transition

// Own returns what the table knows of usher's custom resources. Their
// controllers read it, too: a webhook sees the object, and they what became of
// it.
func Own() []Kind {
	return []Kind{etcdCluster(), network()}
}
