package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// A series is one line of a plot.
type series struct {
	name string
	x, y []float64
}

// A plot is lines over one axis, as SVG. Growth uses a logarithmic x axis, so
// that both 15 and 15,000 are visible.
type plot struct {
	title, xName, yName string
	logarithmic         bool
	lines               []series
}

// The drawing's measures.
const (
	width, height            = 640.0, 360.0
	left, right, top, bottom = 64.0, 150.0, 36.0, 44.0
)

func colours() []string { return []string{"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd"} }

func (p plot) svg() string {
	var xs, ys []float64
	for _, l := range p.lines {
		xs, ys = append(xs, l.x...), append(ys, l.y...)
	}
	if len(xs) == 0 {
		return ""
	}
	most := slices.Max(ys) * 1.1
	if most == 0 {
		most = 1
	}
	scale := func(v float64) float64 { return v }
	if p.logarithmic {
		scale = func(v float64) float64 { return math.Log10(max(v, 1)) }
	}
	first, last := scale(slices.Min(xs)), scale(slices.Max(xs))
	if first == last {
		last++
	}
	x := func(v float64) float64 { return left + (scale(v)-first)/(last-first)*(width-left-right) }
	y := func(v float64) float64 { return height - bottom - v/most*(height-top-bottom) }

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="11">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="white"/>`+"\n", width, height)
	text := func(x, y float64, anchor, s string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(s))
	}
	fmt.Fprintf(&b, `<g font-size="14">`)
	text(left, 20, "start", p.title)
	b.WriteString("</g>\n")
	for i := range 5 {
		v := most * float64(i) / 4
		fmt.Fprintf(&b, `<line x1="%g" y1="%.1f" x2="%g" y2="%.1f" stroke="#ddd"/>`+"\n", left, y(v), width-right, y(v))
		text(left-6, y(v)+4, "end", short(v))
	}
	slices.Sort(xs)
	for _, v := range slices.Compact(xs) {
		text(x(v), height-bottom+16, "middle", short(v))
	}
	text((left+width-right)/2, height-8, "middle", p.xName)
	text(left, top-4, "start", p.yName)
	for i, l := range p.lines {
		colour := colours()[i%len(colours())]
		points := make([]string, len(l.x))
		for k := range l.x {
			points[k] = fmt.Sprintf("%.1f,%.1f", x(l.x[k]), y(l.y[k]))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(l.x[k]), y(l.y[k]), colour)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), colour)
		at := top + 14*float64(i)
		fmt.Fprintf(&b, `<rect x="%g" y="%g" width="10" height="10" fill="%s"/>`+"\n", width-right+14, at, colour)
		text(width-right+28, at+9, "start", l.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// short formats a number for an axis.
func short(v float64) string {
	switch {
	case v >= 1000 && v == math.Trunc(v/100)*100:
		return fmt.Sprintf("%gk", v/1000)
	case v >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}
