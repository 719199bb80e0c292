package redirect

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

const (
	// netlinkTimeout limits the exchange with the kernel, which answers at once or, to
	// an unsupported batch, not at all.
	netlinkTimeout = 10 * time.Second
	// bufferBytes has room for the longest batch, and the kernel's responses to
	// it.
	bufferBytes = 4 << 20
)

var hooks = map[Hook]*nftables.ChainHook{
	Prerouting: nftables.ChainHookPrerouting,
	Output:     nftables.ChainHookOutput,
}

// Apply sets the ruleset in the calling thread's network namespace, and
// atomically replaces the existing one.
func Apply(rules Ruleset) error {
	conn, err := dial()
	if err != nil {
		return err
	}
	if _, err := find(conn); err != nil {
		return err
	}
	table := &nftables.Table{Name: Table, Family: nftables.TableFamilyINet}
	// Only an existing table can be deleted, so it is added first.
	conn.AddTable(table)
	conn.DelTable(table)
	conn.AddTable(table)
	policy := nftables.ChainPolicyAccept
	for _, c := range rules.Chains {
		chain := conn.AddChain(&nftables.Chain{
			Name: c.Name, Table: table, Type: nftables.ChainTypeNAT,
			Hooknum: hooks[c.Hook], Priority: nftables.ChainPriorityRef(priority), Policy: &policy,
		})
		for _, rule := range c.Rules {
			conn.AddRule(encode(table, chain, rule))
		}
	}
	if err := conn.Flush(); err != nil {
		return explain("setting the rules", err)
	}
	return nil
}

// Load reads the ruleset in force; ok is false if there is none.
func Load() (rules Ruleset, ok bool, err error) {
	conn, err := dial()
	if err != nil {
		return Ruleset{}, false, err
	}
	table, err := find(conn)
	if err != nil || table == nil {
		return Ruleset{}, false, err
	}
	chains, err := conn.ListChainsOfTableFamily(nftables.TableFamilyINet)
	if err != nil {
		return Ruleset{}, false, explain("reading the chains", err)
	}
	for _, c := range chains {
		if c.Table.Name != Table {
			continue
		}
		chain := Chain{Name: c.Name}
		for hook, number := range hooks {
			if c.Hooknum != nil && *c.Hooknum == *number {
				chain.Hook = hook
			}
		}
		loaded, err := conn.GetRules(table, c)
		if err != nil {
			return Ruleset{}, false, explain("reading the rules of chain "+c.Name, err)
		}
		for _, rule := range loaded {
			chain.Rules = append(chain.Rules, decode(rule))
		}
		rules.Chains = append(rules.Chains, chain)
	}
	return rules, true, nil
}

// Remove removes the rules; ok is false if there were none.
func Remove() (ok bool, err error) {
	conn, err := dial()
	if err != nil {
		return false, err
	}
	table, err := find(conn)
	if err != nil || table == nil {
		return false, err
	}
	conn.DelTable(table)
	if err := conn.Flush(); err != nil && !errors.Is(err, unix.ENOENT) {
		return false, explain("removing the rules", err)
	}
	return true, nil
}

func dial() (*nftables.Conn, error) {
	conn, err := nftables.New(nftables.WithSockOptions(func(c *netlink.Conn) error {
		return errors.Join(
			c.SetDeadline(time.Now().Add(netlinkTimeout)),
			c.SetReadBuffer(bufferBytes),
			c.SetWriteBuffer(bufferBytes),
		)
	}))
	if err != nil {
		return nil, explain("opening a netlink socket", err)
	}
	return conn, nil
}

// find returns usher's table, or nil. It is also the first request to the
// kernel, whose response shows what is missing.
func find(conn *nftables.Conn) (*nftables.Table, error) {
	tables, err := conn.ListTablesOfFamily(nftables.TableFamilyINet)
	if errors.Is(err, unix.EINVAL) { // netfilter's response for an unknown subsystem
		err = fmt.Errorf("%w (%w)", unix.EOPNOTSUPP, err)
	}
	if err != nil {
		return nil, explain("listing tables", err)
	}
	i := slices.IndexFunc(tables, func(t *nftables.Table) bool { return t.Name == Table })
	if i < 0 {
		return nil, nil
	}
	return tables[i], nil
}

// explain explains what to do about an error from the kernel.
func explain(doing string, err error) error {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		remedy := "add `capabilities: {add: [NET_ADMIN]}` to the securityContext of the init container"
		if uid := os.Geteuid(); uid != 0 {
			remedy += fmt.Sprintf(", and `runAsUser: 0` (it runs as %d, and Kubernetes gives added capabilities only to root)", uid)
		}
		return fmt.Errorf("%s: %w: %s", doing, err, remedy)
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.EAFNOSUPPORT):
		return fmt.Errorf("%s: %w: the kernel has no nf_tables for the inet family; use a node with Linux 5.2 or later and the module nf_tables, and no sandbox without it", doing, err)
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("%s: %w: the kernel's nf_tables lacks NAT, redirect or fib for the inet family; load the modules nft_chain_nat, nft_redir and nft_fib_inet on the node", doing, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%s: %w: the kernel did not answer within %s", doing, err, netlinkTimeout)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
