package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// write appends lines to a file, like an application that logs into a folder.
func write(ctx context.Context, file string) error {
	out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for n := 1; ctx.Err() == nil; n++ {
		if _, err := fmt.Fprintf(out, "line %d of the application\n", n); err != nil {
			return err
		}
		<-tick.C
	}
	return nil
}

// ship prints new lines of the files in a folder.
func ship(ctx context.Context, folder string) error {
	read := map[string]int64{}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		files, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil {
			return err
		}
		for _, name := range files {
			if err := follow(name, read); err != nil {
				return err
			}
		}
		<-tick.C
	}
	return nil
}

// follow prints the complete lines of a file after those that were read.
func follow(name string, read map[string]int64) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(read[name], io.SeekStart); err != nil {
		return err
	}
	more, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	whole := more[:bytes.LastIndexByte(more, '\n')+1]
	read[name] += int64(len(whole))
	_, err = os.Stdout.Write(whole)
	return err
}
