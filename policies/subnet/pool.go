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

// String is the pool in words.
func (p Pool) String() string { return fmt.Sprintf("%s in parts of /%d", p.prefix, p.bits) }
