module github.com/usher-dev/usher/tools/record

go 1.26.0
