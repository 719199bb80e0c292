package main

import (
	_ "embed" // the drawing
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/usher-dev/usher/cli/page"
	"github.com/usher-dev/usher/policies/cron"
)

//go:embed calendar.svg
var calendarSVG string

var calendarTemplate = template.Must(template.New("calendar").Funcs(template.FuncMap{"text": page.Text}).Parse(calendarSVG))

// The measures of a drawing, in pixels at its natural size.
const (
	drawingWidth = 1010
	plotLeft     = 48.0
	plotTop      = 76.0
	dayWidth     = 2.5
	hourHeight   = 9.0
	lineHeight   = 19
	firstLine    = 364 // below the plot
	withoutPlot  = 72  // if there is none
	maxLine      = 140 // characters in a line
)

// A drawing has a calendar for each CronJob, below each other.
type (
	drawing struct {
		Title, Description string
		Width, Height      int
		Jobs               []*jobDrawing
	}
	jobDrawing struct {
		Name, Schedule string
		Top            int
		Drawn          bool
		Plot           float64
		Months, Hours  []label
		Cells          []cells
		Shifts, Marks  []label
		Gaps           []gapDrawing
		Legend, Lines  []label
	}
	label struct {
		X, Y   float64
		Label  string
		Class  string
		Anchor string
		Offset int
	}
	// cells are the hours with as many runs, in one path.
	cells struct{ Class, Path string }

	gapDrawing struct {
		From, To, At  float64
		Label, Anchor string
	}
)

// writeCalendars draws a year of runs of each CronJob.
func writeCalendars(w io.Writer, timelines []*timeline) error {
	d := &drawing{Width: drawingWidth}
	var names, descriptions []string
	for _, l := range timelines {
		job := drawJob(l)
		job.Top = d.Height
		d.Height += int(job.Lines[len(job.Lines)-1].Y) + lineHeight
		d.Jobs = append(d.Jobs, job)
		names = append(names, job.Name)
		description := job.Name + ": " + job.Schedule + "."
		for _, line := range job.Lines {
			description += " " + line.Label
		}
		descriptions = append(descriptions, description)
	}
	d.Title = "A year of runs of " + strings.Join(names, ", ")
	d.Description = strings.Join(descriptions, "\n")
	return calendarTemplate.Execute(w, d)
}

func drawJob(l *timeline) *jobDrawing {
	name := l.doc.String()
	if l.doc.Namespace != "" {
		name += " in " + l.doc.Namespace
	}
	j := &jobDrawing{Name: shortened(name, 60), Schedule: shortened(l.spec.Schedule+", "+zoneText(l.Schedule, l.zone), maxLine)}
	if l.suspended() {
		j.line("It is suspended: nothing below happens until it is resumed.")
	}
	if never := l.never(); never != "" {
		j.line(never)
		j.place(withoutPlot)
		return j
	}
	c := l.Calendar(l.from, l.duration)
	j.Drawn, j.Plot = true, float64(len(c.Days))*dayWidth
	j.scales(&c)
	j.hours(&c)
	j.Lines = append(j.Lines, label{Label: fmt.Sprintf("%s from %s to %s.", page.Count(c.Runs, "run"), l.from.Format(shownTime), c.Date(len(c.Days)-1).Format("Mon 2006-01-02"))})
	j.gaps(l, &c)
	j.shifts(l, &c)
	if l.duration > 0 {
		j.line(l.overlaps(&c))
	}
	j.place(firstLine)
	return j
}

// line adds a line of text below the plot, or several.
func (j *jobDrawing) line(text string) {
	var b strings.Builder
	for _, word := range strings.Fields(text) {
		if b.Len() > 0 && b.Len()+len(word) >= maxLine {
			j.Lines = append(j.Lines, label{Label: b.String()})
			b.Reset()
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	j.Lines = append(j.Lines, label{Label: b.String()})
}

// place gives the lines their places, from a height on.
func (j *jobDrawing) place(top int) {
	for i := range j.Lines {
		j.Lines[i].Y = float64(top + i*lineHeight)
	}
}

// scales draws the months and the hours of the day.
func (j *jobDrawing) scales(c *cron.Calendar) {
	for i := range c.Days {
		if day := c.Date(i); day.Day() == 1 && i < len(c.Days)-10 || i == 0 && day.Day() < 10 {
			text := day.Format("Jan")
			if day.Month() == time.January || i == 0 {
				text = day.Format("Jan 2006")
			}
			j.Months = append(j.Months, label{X: column(i), Label: text})
		}
	}
	for hour := 0; hour <= 24; hour += 6 {
		j.Hours = append(j.Hours, label{Y: plotTop + float64(hour)*hourHeight + 4, Label: fmt.Sprintf("%02d:00", hour)})
	}
}

// The classes of hours, by their number of runs.
var densities = []struct {
	class, label string
	most         int
}{{"h1", "1 run an hour", 1}, {"h2", "2 to 5 an hour", 5}, {"h3", "6 to 20 an hour", 20}, {"h4", "over 20 an hour", 1 << 30}, {"late", "overlaps the previous run", 0}}

// hours draws the hours that have runs, those of consecutive days together.
func (j *jobDrawing) hours(c *cron.Calendar) {
	paths := make([]strings.Builder, len(densities))
	for hour := range 24 {
		for day := 0; day < len(c.Days); {
			of := density(c.Days[day][hour])
			next := day + 1
			for next < len(c.Days) && density(c.Days[next][hour]) == of {
				next++
			}
			if of >= 0 {
				width := float64(next-day) * dayWidth
				fmt.Fprintf(&paths[of], "M%g %gh%gv%gh%gz", column(day), plotTop+float64(hour)*hourHeight, width, hourHeight-1, -width)
			}
			day = next
		}
	}
	x := plotLeft + j.Plot
	for i, d := range slices.Backward(densities) {
		if paths[i].Len() > 0 {
			x -= 30 + 6.3*float64(len(d.label))
			j.Cells = append(j.Cells, cells{d.class, paths[i].String()})
			j.Legend = append(j.Legend, label{X: x, Label: d.label, Class: d.class})
		}
	}
}

// density returns the index of an hour's class, or -1 if it has no runs.
func density(h cron.Hour) int {
	switch {
	case h.Overlapping > 0:
		return len(densities) - 1
	case h.Runs == 0:
		return -1
	}
	for i, d := range densities {
		if h.Runs <= d.most {
			return i
		}
	}
	return -1
}

func (j *jobDrawing) gaps(l *timeline, c *cron.Calendar) {
	shortest, longest, ok := l.Gaps(l.from)
	switch {
	case !ok:
		j.line("Gaps: at most one run is ahead.")
		return
	case shortest.Length() == longest.Length():
		j.line(fmt.Sprintf("Gaps: always %s.", length(shortest.Length())))
		return
	}
	j.line(fmt.Sprintf("Shortest gap: %s, from %s. Longest gap: %s, from %s.", length(shortest.Length()), shortest.From.Format(shownTime), length(longest.Length()), longest.From.Format(shownTime)))
	end := column(len(c.Days))
	for _, gap := range []struct {
		cron.Gap
		name string
	}{{shortest, "shortest gap"}, {longest, "longest gap"}} {
		from := min(moment(c, gap.From), end)
		g := gapDrawing{From: from, To: min(max(moment(c, gap.To), from+dayWidth), end), Label: gap.name + " " + length(gap.Length())}
		g.At = g.From
		if g.From > plotLeft+j.Plot/2 {
			g.At, g.Anchor = g.To, "end"
		}
		j.Gaps = append(j.Gaps, g)
	}
	if a, b := j.Gaps[0], j.Gaps[1]; a.Anchor == b.Anchor && max(a.At, b.At)-min(a.At, b.At) < 170 {
		j.Gaps[0].Label += ", " + b.Label // their labels would cover each other
		j.Gaps[1].Label = ""
	}
}

func (j *jobDrawing) shifts(l *timeline, c *cron.Calendar) {
	changes := map[time.Time]cron.ClockChange{}
	for _, change := range l.ClockChanges(l.from) {
		changes[change.At.UTC()] = change
	}
	if len(c.Shifts) > 0 && len(changes) == 0 {
		j.line("Daylight saving neither skips nor repeats a run.")
	}
	for _, s := range c.Shifts {
		at := s.At.In(c.From.Location())
		shift := label{X: moment(c, s.At), Label: fmt.Sprintf("%s: clocks %+g h", at.Format("2 Jan"), s.By.Hours()), Offset: 4}
		if shift.X > plotLeft+j.Plot-140 {
			shift.Anchor, shift.Offset = "end", -4
		}
		j.Shifts = append(j.Shifts, shift)
		change, ok := changes[s.At.UTC()]
		if !ok {
			continue
		}
		text := fmt.Sprintf("Daylight saving on %s, by %s:", at.Format(shownTime), length(s.By))
		text += listed(change.Skipped, "does not exist and is skipped") + listed(change.Doubled, "occurs twice and runs twice")
		j.line(strings.TrimSuffix(text, ",") + ".")
		// The circle is around the hour before the change.
		j.Marks = append(j.Marks, label{X: shift.X, Y: plotTop + (float64(s.At.Add(-time.Second).In(c.From.Location()).Hour())+.5+max(0, s.By.Hours()))*hourHeight})
	}
}

// listed lists the first few times, and what happens to each.
func listed(times []string, what string) string {
	const most = 3
	text := ""
	for _, t := range times[:min(most, len(times))] {
		text += " " + t + " " + what + ","
	}
	if more := len(times) - most; more > 0 {
		text += fmt.Sprintf(" as do %d more,", more)
	}
	return text
}

// column is the place of a day.
func column(day int) float64 { return plotLeft + float64(day)*dayWidth }

// moment is the place of a moment.
func moment(c *cron.Calendar, t time.Time) float64 {
	t = t.In(c.From.Location())
	return column(c.Column(t)) + dayWidth*float64(t.Hour())/24
}

// shortened cuts a text that a drawing cannot wrap.
func shortened(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
