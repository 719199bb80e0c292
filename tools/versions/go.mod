module github.com/usher-dev/usher/tools/versions

go 1.26.0
