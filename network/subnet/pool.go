package subnet

import (
	"fmt"
	"net/netip"
)

// maxPoolBits limits the parts of a pool, as bits: more networks are
// unrealistic, and usher may inspect each part.
const maxPoolBits = 16

// A Pool is a range that is divided into parts of equal size.
type Pool struct {
	prefix netip.Prefix
	bits   int
}

// ParsePool parses a pool. Its error begins with the field that it is about.
func ParsePool(cidr string, prefixLength int) (Pool, error) {
	prefix, err := ParseCIDR(cidr)
	if err != nil {
		return Pool{}, fmt.Errorf("cidr %w", err)
	}
	smallest := min(prefix.Addr().BitLen()-smallestHostBits, prefix.Bits()+maxPoolBits)
	if prefixLength < prefix.Bits() || prefixLength > smallest {
		return Pool{}, fmt.Errorf("prefixLength is %d: write the prefix length of the ranges that %s is divided into, a number from %d to %d", prefixLength, prefix, prefix.Bits(), smallest)
	}
	return Pool{prefix: prefix, bits: prefixLength}, nil
}

// Len returns the number of parts.
func (p Pool) Len() int { return 1 << (p.bits - p.prefix.Bits()) }

// Part returns the i-th of Len parts, with its first address as the gateway.
func (p Pool) Part(i int) Subnet {
	bytes := p.prefix.Addr().AsSlice()
	for bit := p.bits - 1; bit >= p.prefix.Bits(); bit-- {
		if i&1 == 1 {
			bytes[bit/8] |= 0x80 >> (bit % 8)
		}
		i >>= 1
	}
	addr, _ := netip.AddrFromSlice(bytes)
	return Subnet{Prefix: netip.PrefixFrom(addr, p.bits), Gateway: addr.Next()}
}

// Overlapping returns the parts that have addresses in common with a range: from
// first up to, but without, end.
func (p Pool) Overlapping(r netip.Prefix) (first, end int) {
	if !r.Overlaps(p.prefix) {
		return 0, 0
	}
	if r.Bits() <= p.prefix.Bits() {
		return 0, p.Len()
	}
	first = p.index(r.Addr())
	return first, first + 1<<max(0, p.bits-r.Bits())
}

// index returns the index of the part that contains an address of the pool.
func (p Pool) index(addr netip.Addr) int {
	bytes, i := addr.AsSlice(), 0
	for bit := p.prefix.Bits(); bit < p.bits; bit++ {
		i <<= 1
		if bytes[bit/8]&(0x80>>(bit%8)) != 0 {
			i |= 1
		}
	}
	return i
}

// Has reports whether a range is one of the parts.
func (p Pool) Has(r netip.Prefix) bool {
	return r.Bits() == p.bits && p.prefix.Contains(r.Addr()) && r == r.Masked()
}

// String describes the pool.
func (p Pool) String() string { return fmt.Sprintf("%s in parts of /%d", p.prefix, p.bits) }
