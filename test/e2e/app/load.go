package main

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// A load repeatedly requests a URL and counts the answers.
type load struct {
	url    string
	client *http.Client

	mu    sync.Mutex
	count Count
}

// Count is the result of load, as JSON.
type Count struct {
	Answered int      `json:"answered"`
	Failed   int      `json:"failed"`
	Failures []string `json:"failures"` // the last few
}

func (l *load) run(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		l.add(get(ctx, l.client, l.url))
		<-tick.C
	}
}

func (l *load) add(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.count.Answered++
		return
	}
	l.count.Failed++
	l.count.Failures = append(l.count.Failures, time.Now().Format(time.RFC3339Nano)+" "+err.Error())
	l.count.Failures = l.count.Failures[max(0, len(l.count.Failures)-5):]
}

// ServeHTTP reports the result so far.
func (l *load) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = json.NewEncoder(w).Encode(l.count)
}
