module github.com/usher-dev/usher/tools/prose

go 1.26.0
