package reach

import (
	"context"
	"net/netip"
)

// Range returns the name of an address' range, "" if it is public.
func Range(a netip.Addr) string {
	if is := spanOf(a); is != nil {
		return is.name
	}
	return ""
}

// Judge is what Dial does once it has resolved the host.
func (r *Route) Judge(ctx context.Context, host, resolved string) error {
	return r.judge(ctx, host, resolved)
}
