package redirect

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"net/netip"
	"reflect"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"golang.org/x/sys/unix"
)

// decode converts a rule that encode wrote back; any other rule is NotOwned.
//
// It guesses each rule from the few values in it, and encodes the guess again:
// the guess is right only if the result is identical.
func decode(rule *nftables.Rule) Rule {
	notOwned := Rule{Match: NotOwned{}}
	conditions, port, ok := verdict(rule.Exprs)
	if !ok {
		return notOwned
	}
	match := guess(conditions)
	if match == nil || !reflect.DeepEqual(encodeMatch(match), conditions) {
		return notOwned
	}
	return Rule{Match: match, RedirectTo: port, Comment: comment(rule.UserData)}
}

// verdict splits off the action for matching packets.
func verdict(exprs []expr.Any) (conditions []expr.Any, port uint16, ok bool) {
	last := len(exprs) - 1
	if last < 1 {
		return nil, 0, false
	}
	switch v := exprs[last].(type) {
	case *expr.Verdict:
		return exprs[:last], 0, v.Kind == expr.VerdictReturn
	case *expr.Redir:
		to, ok := exprs[last-1].(*expr.Immediate)
		if !ok || len(to.Data) != 2 || v.RegisterProtoMin != to.Register {
			return nil, 0, false
		}
		return exprs[:last-1], binary.BigEndian.Uint16(to.Data), true
	}
	return nil, 0, false
}

// guess names the match by its last comparison and the source of the value.
func guess(exprs []expr.Any) Match {
	last := len(exprs) - 1
	if last < 1 {
		return nil
	}
	cmp, ok := exprs[last].(*expr.Cmp)
	if !ok {
		return nil
	}
	switch source := exprs[last-1].(type) {
	case *expr.Meta:
		return guessMeta(source.Key, cmp)
	case *expr.Fib:
		return NotLocal{}
	case *expr.Payload:
		if source.Base == expr.PayloadBaseTransportHeader && len(cmp.Data) == 2 {
			port := binary.BigEndian.Uint16(cmp.Data)
			return PortRange{port, port}
		}
		if addr, ok := netip.AddrFromSlice(cmp.Data); ok {
			return Destination(netip.PrefixFrom(addr, addr.BitLen()))
		}
	case *expr.Cmp:
		if len(source.Data) == 2 && len(cmp.Data) == 2 {
			return PortRange{binary.BigEndian.Uint16(source.Data), binary.BigEndian.Uint16(cmp.Data)}
		}
	case *expr.Bitwise:
		if len(cmp.Data) == 1 {
			return NotOpening{}
		}
		if addr, ok := netip.AddrFromSlice(cmp.Data); ok {
			return Destination(netip.PrefixFrom(addr, ones(source.Mask)))
		}
	}
	return nil
}

func guessMeta(key expr.MetaKey, cmp *expr.Cmp) Match {
	switch {
	case key == expr.MetaKeyL4PROTO:
		return TCP{}
	case key == expr.MetaKeyOIFNAME:
		return Loopback{}
	case key == expr.MetaKeySKUID && len(cmp.Data) == 4:
		return UID(binary.NativeEndian.Uint32(cmp.Data))
	case key == expr.MetaKeySKGID && len(cmp.Data) == 4:
		return GID(binary.NativeEndian.Uint32(cmp.Data))
	case key == expr.MetaKeyNFPROTO && bytes.Equal(cmp.Data, []byte{unix.NFPROTO_IPV4}):
		return Destination(netip.PrefixFrom(netip.IPv4Unspecified(), 0))
	case key == expr.MetaKeyNFPROTO:
		return Destination(netip.PrefixFrom(netip.IPv6Unspecified(), 0))
	}
	return nil
}

func ones(mask []byte) int {
	n := 0
	for _, b := range mask {
		n += bits.OnesCount8(b)
	}
	return n
}

// comment parses the rule's comment. Other programs' user data may be anything,
// and userdata.Get trusts the lengths in it.
func comment(data []byte) string {
	for rest := data; len(rest) > 0; {
		if len(rest) < 2 || len(rest) < 2+int(rest[1]) {
			return ""
		}
		rest = rest[2+int(rest[1]):]
	}
	text, _ := userdata.GetString(data, userdata.TypeComment)
	return text
}
