// Command prometheus runs Prometheus' own storage and rules on given scrapes,
// at given times:
//
//	go run ./prometheus alerts.yaml service-levels.yaml
//
// Each line of standard input is a round of scrapes. After each it evaluates
// the rules, runs the round's queries, and prints a line with the firing alerts
// and the answers.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// A round is the result of scraping every target at a time, and what is asked
// then.
type round struct {
	At      time.Time `json:"at"`
	Targets []target  `json:"targets"`
	Queries []string  `json:"queries"`
}

// A target answered with Text, or did not answer.
type target struct {
	Labels map[string]string `json:"labels"`
	Up     bool              `json:"up"`
	Text   string            `json:"text"`
}

// An alert fires.
type alert struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// A sample is one of the answer to a query.
type sample struct {
	Labels map[string]string `json:"labels"`
	Value  string            `json:"value"` // JSON has no NaN
}

// A result is what a round leads to. Answers are in the order of the queries.
type result struct {
	Firing  []alert    `json:"firing"`
	Answers [][]sample `json:"answers"`
}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "prometheus:", err)
		os.Exit(1)
	}
}

func run(files []string, in io.Reader, out io.Writer) error {
	folder, err := os.MkdirTemp("", "prometheus-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0
	db, err := tsdb.Open(folder, log, nil, options, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	db.DisableCompactions()
	engine := promql.NewEngine(promql.EngineOpts{Logger: log, MaxSamples: 50_000_000, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true})
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(engine, db), Appendable: db, Queryable: db, Context: context.Background(), Logger: log,
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Parser: parser.NewParser(parser.Options{}),
	})
	groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, files...)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, group := range groups {
		for _, rule := range group.Rules() {
			if alerting, ok := rule.(*rules.AlertingRule); ok {
				alerting.SetRestored(true) // without that it does not write ALERTS
			}
		}
	}
	s := &scraper{storage: db, before: map[string]map[string]labels.Labels{}}
	read, write := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r round
		if err := read.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading a round: %w", err)
		}
		if err := s.take(r); err != nil {
			return err
		}
		fire := result{Firing: []alert{}}
		for _, group := range groups {
			group.Eval(context.Background(), r.At)
			firing, err := of(group)
			if err != nil {
				return err
			}
			fire.Firing = append(fire.Firing, firing...)
		}
		for _, expression := range r.Queries {
			samples, err := ask(engine, db, expression, r.At)
			if err != nil {
				return fmt.Errorf("%s: %w", expression, err)
			}
			fire.Answers = append(fire.Answers, samples)
		}
		slices.SortFunc(fire.Firing, func(a, b alert) int { return strings.Compare(a.Name, b.Name) })
		if err := write.Encode(fire); err != nil {
			return err
		}
	}
}

// ask runs an instant query.
func ask(engine *promql.Engine, queryable storage.Queryable, expression string, at time.Time) ([]sample, error) {
	query, err := engine.NewInstantQuery(context.Background(), queryable, nil, expression, at)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	vector, err := query.Exec(context.Background()).Vector()
	samples := []sample{}
	for _, s := range vector {
		samples = append(samples, sample{s.Metric.Map(), strconv.FormatFloat(s.F, 'g', -1, 64)})
	}
	return samples, err
}

// of returns the firing alerts of a group.
func of(group *rules.Group) ([]alert, error) {
	var fire []alert
	for _, rule := range group.Rules() {
		if err := rule.LastError(); err != nil {
			return nil, fmt.Errorf("%s: %w", rule.Name(), err)
		}
		alerting, ok := rule.(*rules.AlertingRule)
		if !ok {
			continue
		}
		for _, a := range alerting.ActiveAlerts() {
			if a.State == rules.StateFiring {
				fire = append(fire, alert{rule.Name(), a.Labels.Map(), a.Annotations.Map()})
			}
		}
	}
	return fire, nil
}

// A scraper writes the targets' series, and marks those that end.
type scraper struct {
	storage storage.Appendable
	before  map[string]map[string]labels.Labels // series by target
}

func (s *scraper) take(r round) error {
	appender, at := s.storage.Appender(context.Background()), timestamp.FromTime(r.At)
	seen := map[string]bool{}
	for _, t := range r.Targets {
		own := labels.FromMap(t.Labels)
		seen[own.String()] = true
		if err := s.target(appender, own, t, at); err != nil {
			return errors.Join(fmt.Errorf("the target %s: %w", own, err), appender.Rollback())
		}
	}
	// A target that was removed.
	for id, series := range s.before {
		if !seen[id] {
			if err := stale(appender, series, nil, at); err != nil {
				return errors.Join(err, appender.Rollback())
			}
			delete(s.before, id)
		}
	}
	return appender.Commit()
}

func (s *scraper) target(appender storage.Appender, own labels.Labels, t target, at int64) error {
	now := map[string]labels.Labels{}
	add := func(series labels.Labels, v float64) error {
		now[series.String()] = series
		_, err := appender.Append(0, series, at, v)
		return err
	}
	up := 0.0
	if t.Up {
		up = 1
		p := textparse.NewPromParser([]byte(t.Text), labels.NewSymbolTable(), false)
		for {
			entry, err := p.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if entry != textparse.EntrySeries {
				continue
			}
			var series labels.Labels
			p.Labels(&series)
			_, _, v := p.Series()
			if err := add(with(series, own), v); err != nil {
				return err
			}
		}
	}
	if err := add(with(labels.FromStrings(labels.MetricName, "up"), own), up); err != nil {
		return err
	}
	err := stale(appender, s.before[own.String()], now, at)
	s.before[own.String()] = now
	return err
}

// with adds the labels of the target. The metric's own labels take precedence,
// as with usher's monitors (honorLabels).
func with(series, own labels.Labels) labels.Labels {
	b := labels.NewBuilder(series)
	own.Range(func(l labels.Label) {
		if series.Get(l.Name) == "" {
			b.Set(l.Name, l.Value)
		}
	})
	return b.Labels()
}

// stale marks the series that ended.
func stale(appender storage.Appender, before, now map[string]labels.Labels, at int64) error {
	for id, series := range before {
		if _, goesOn := now[id]; goesOn {
			continue
		}
		if _, err := appender.Append(0, series, at, stalenan()); err != nil {
			return err
		}
	}
	return nil
}

// stalenan is Prometheus' mark of an ended series.
func stalenan() float64 { return math.Float64frombits(value.StaleNaN) }
