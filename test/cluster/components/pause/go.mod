module github.com/usher-dev/usher/test/cluster/components/pause

go 1.26.0
