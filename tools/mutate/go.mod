module github.com/usher-dev/usher/tools/mutate

go 1.26.8
