package subnet

import (
	"fmt"
	"net/netip"
)

// maxPoolBits bounds the parts of a pool, as bits: nobody has more networks,
// and each may be looked at.
const maxPoolBits = 16

// A Pool is a range that is given out in parts of one size.
type Pool struct {
	prefix netip.Prefix
	bits   int
}

// ParsePool reads a pool. Its error begins with the field it is about.
func ParsePool(cidr string, prefixLength int) (Pool, error) {
	prefix, err := ParseCIDR(cidr)
	if err != nil {
		return Pool{}, fmt.Errorf("cidr %w", err)
	}
	smallest := min(prefix.Addr().BitLen()-smallestHostBits, prefix.Bits()+maxPoolBits)
	if prefixLength < prefix.Bits() || prefixLength > smallest {
		return Pool{}, fmt.Errorf("prefixLength is %d: write the size of the parts that %s is given out in, a number from %d to %d", prefixLength, prefix, prefix.Bits(), smallest)
	}
	return Pool{prefix: prefix, bits: prefixLength}, nil
}

// Len is the number of parts.
func (p Pool) Len() int { return 1 << (p.bits - p.prefix.Bits()) }

// Part is the i-th of Len, with its first address as the gateway.
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

// Taken says of each part whether one of the ranges has addresses of it.
func (p Pool) Taken(ranges []netip.Prefix) []bool {
	taken := make([]bool, p.Len())
	for _, r := range ranges {
		if !r.Overlaps(p.prefix) {
			continue
		}
		first, count := 0, p.Len()
		if r.Bits() > p.prefix.Bits() {
			first, count = p.index(r.Addr()), 1<<max(0, p.bits-r.Bits())
		}
		for i := first; i < first+count; i++ {
			taken[i] = true
		}
	}
	return taken
}

// index is that of the part which an address of the pool is in.
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

// Has says whether a range is one of the parts.
func (p Pool) Has(r netip.Prefix) bool {
	return r.Bits() == p.bits && p.prefix.Contains(r.Addr()) && r == r.Masked()
}

// String is the pool in words.
func (p Pool) String() string { return fmt.Sprintf("%s in parts of /%d", p.prefix, p.bits) }
