package doctor

import (
	"fmt"
	"slices"
	"time"

	"github.com/usher-dev/usher/cli/status"
	"github.com/usher-dev/usher/finding"
)

const certificateSection = "certificates"

// Less than this is left of a certificate when it deserves a warning: a fifth of its
// lifetime, and never more than 30 days.
const (
	shortShare = 5
	shortTime  = 30 * 24 * time.Hour
)

// certificates checks those that members serve, and the files of the client.
func certificates(o *Observation) []status.Check {
	var checks []status.Check
	plain := 0
	for i := range o.Endpoints {
		e := &o.Endpoints[i]
		if len(e.Chain) == 0 {
			if e.Status != nil {
				plain++
			}
			continue
		}
		check := dates(o.Now, "serves", e.Chain)
		check.Name = o.name(e)
		if check.State != status.OK {
			check.Remedy = "issue another certificate for the member; etcd reads the files of --cert-file and --key-file again without a restart"
		} else if e.Untrusted != "" {
			check.State, check.Message = status.Failed, "the client does not trust it: "+e.Untrusted
			if e.Status != nil {
				check.State = status.Warning // --insecure-skip-tls-verify
			}
			check.Remedy = "pass the CA of the members with --cacert, and an endpoint that the certificate names"
		}
		checks = append(checks, check)
	}
	for _, f := range o.Files {
		all := f.Certificates
		if f.Use == CAFile { // of an old and a new CA, one suffices
			all = []Certificate{slices.MaxFunc(all, func(a, b Certificate) int { return a.NotAfter.Compare(b.NotAfter) })}
		}
		check := dates(o.Now, "has", all)
		check.Name = fmt.Sprintf("%s %s", f.Use, f.Path)
		if check.State != status.OK {
			check.Remedy = "issue another one, and pass it with " + f.Use
		}
		checks = append(checks, check)
	}
	if len(checks) == 0 && plain > 0 {
		checks = append(checks, status.Check{Section: certificateSection, Name: "certificates", State: status.OK, Message: "none: the endpoints serve without TLS"})
	}
	return checks
}

// dates judges the certificate that ends first.
func dates(now time.Time, verb string, all []Certificate) status.Check {
	check := status.Check{Section: certificateSection, State: status.OK}
	first := all[0]
	for _, c := range all {
		if c.NotAfter.Before(first.NotAfter) {
			first = c
		}
	}
	for _, c := range all {
		if now.Before(c.NotBefore) {
			check.State, check.Message = status.Failed, fmt.Sprintf("%s a certificate of %q that is valid only from %s", verb, c.Subject, day(c.NotBefore))
			return check
		}
	}
	left := first.NotAfter.Sub(now)
	switch {
	case left <= 0:
		check.State, check.Message = status.Failed, fmt.Sprintf("the certificate of %q expired at %s", first.Subject, day(first.NotAfter))
	case left < min(first.NotAfter.Sub(first.NotBefore)/shortShare, shortTime):
		check.State, check.Message = status.Warning, fmt.Sprintf("the certificate of %q expires in %s, at %s", first.Subject, remaining(left), day(first.NotAfter))
	default:
		check.Message = remaining(left) + " left, until " + day(first.NotAfter)
	}
	return check
}

func day(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// remaining is a duration as people say it.
func remaining(d time.Duration) string {
	switch {
	case d < 2*time.Hour:
		return finding.Count(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return finding.Count(int(d.Hours()), "hour")
	}
	return finding.Count(int(d.Hours()/24), "day")
}
