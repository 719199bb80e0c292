package redirect

import (
	"encoding/binary"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"golang.org/x/sys/unix"
)

// register is the register through which expressions pass their value. Every
// condition needs only one value at a time.
const register = 1

// tcpFlags are the bits that distinguish the packet that opens a connection:
// SYN is set, and FIN, RST and ACK are not.
const (
	tcpFlagSYN  = 0x02
	tcpFlagMask = 0x01 | tcpFlagSYN | 0x04 | 0x10
)

// encode returns the rule for the kernel, in the form that nft itself would
// use, so that nft lists it correctly.
func encode(table *nftables.Table, chain *nftables.Chain, rule Rule) *nftables.Rule {
	exprs := encodeMatch(rule.Match)
	if rule.RedirectTo == 0 {
		exprs = append(exprs, &expr.Verdict{Kind: expr.VerdictReturn})
	} else {
		exprs = append(exprs,
			&expr.Immediate{Register: register, Data: binary.BigEndian.AppendUint16(nil, rule.RedirectTo)},
			&expr.Redir{RegisterProtoMin: register},
		)
	}
	return &nftables.Rule{
		Table: table, Chain: chain, Exprs: exprs,
		UserData: userdata.AppendString(nil, userdata.TypeComment, rule.Comment),
	}
}

func encodeMatch(match Match) []expr.Any {
	switch m := match.(type) {
	case TCP:
		return tcp()
	case NotOpening:
		return append(tcp(),
			&expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: 13, Len: 1},
			&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 1, Mask: []byte{tcpFlagMask}, Xor: []byte{0}},
			compare(expr.CmpOpNeq, []byte{tcpFlagSYN}),
		)
	case NotLocal:
		return []expr.Any{
			&expr.Fib{Register: register, ResultADDRTYPE: true, FlagDADDR: true},
			compare(expr.CmpOpNeq, binary.NativeEndian.AppendUint32(nil, unix.RTN_LOCAL)),
		}
	case Loopback:
		name := make([]byte, unix.IFNAMSIZ)
		copy(name, "lo")
		return meta(expr.MetaKeyOIFNAME, name)
	case UID:
		return meta(expr.MetaKeySKUID, binary.NativeEndian.AppendUint32(nil, uint32(m)))
	case GID:
		return meta(expr.MetaKeySKGID, binary.NativeEndian.AppendUint32(nil, uint32(m)))
	case PortRange:
		return encodePorts(m)
	case Destination:
		return encodeDestination(netip.Prefix(m))
	}
	// NotOwned is the result of decode for rules of others; Plan never creates it.
	return nil
}

func encodePorts(ports PortRange) []expr.Any {
	exprs := append(tcp(),
		&expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2})
	first, last := binary.BigEndian.AppendUint16(nil, ports.First), binary.BigEndian.AppendUint16(nil, ports.Last)
	if ports.First == ports.Last {
		return append(exprs, compare(expr.CmpOpEq, first))
	}
	return append(exprs, compare(expr.CmpOpGte, first), compare(expr.CmpOpLte, last))
}

func encodeDestination(prefix netip.Prefix) []expr.Any {
	family, offset := byte(unix.NFPROTO_IPV6), uint32(24)
	if prefix.Addr().Is4() {
		family, offset = unix.NFPROTO_IPV4, 16
	}
	exprs := meta(expr.MetaKeyNFPROTO, []byte{family})
	if prefix.Bits() == 0 {
		return exprs
	}
	addr := prefix.Addr().AsSlice()
	length := uint32(len(addr))
	exprs = append(exprs, &expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: length})
	if prefix.Bits() < prefix.Addr().BitLen() {
		exprs = append(exprs, &expr.Bitwise{
			SourceRegister: register, DestRegister: register, Len: length,
			Mask: mask(prefix.Bits(), len(addr)), Xor: make([]byte, length),
		})
	}
	return append(exprs, compare(expr.CmpOpEq, addr))
}

func tcp() []expr.Any {
	return meta(expr.MetaKeyL4PROTO, []byte{unix.IPPROTO_TCP})
}

func meta(key expr.MetaKey, data []byte) []expr.Any {
	return []expr.Any{&expr.Meta{Key: key, Register: register}, compare(expr.CmpOpEq, data)}
}

func compare(op expr.CmpOp, data []byte) *expr.Cmp {
	return &expr.Cmp{Op: op, Register: register, Data: data}
}

// mask returns the network mask with the given number of bits.
func mask(bits, length int) []byte {
	m := make([]byte, length)
	for i := range bits {
		m[i/8] |= 0x80 >> (i % 8)
	}
	return m
}
