// Command mutate changes the source of a package in small ways, one at a time, and
// runs its tests on each change. A change that every test passes survives: the tests
// do not notice what it breaks, or it breaks nothing.
//
//	mutate [-seed N] [-limit N] [-timeout D] [-min SHARE] [-run EXPRESSION] FOLDER [-- ARGS]
//
// The changed files are an overlay of go test: mutate never writes into the source.
// ARGS are arguments of go test.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutate: ")
	seed := flag.Uint64("seed", 1, "the seed that chooses the mutants")
	limit := flag.Int("limit", 60, "how many mutants to try; 0 means all")
	timeout := flag.Duration("timeout", 0, "the time for the tests of a mutant (default: three times that of the tests without one, and 30 seconds)")
	least := flag.Float64("min", 0, "fail if a smaller share of mutants is caught, such as 0.8")
	only := flag.String("run", "", "try only mutants whose place or lines match this `expression`")
	list := flag.Bool("list", false, "list the mutants, and run no tests")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("write the folder of a package, such as etcd/plan")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	mutants, err := find(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	matching, err := regexp.Compile(*only)
	if err != nil {
		log.Fatalf("-run: %v", err)
	}
	chosen := choose(mutants, matching, *seed, *limit)
	if *list {
		for _, m := range chosen {
			fmt.Print(m)
		}
		return
	}
	args := flag.Args()[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	t := &tests{folder: flag.Arg(0), args: args, timeout: *timeout}
	if err := t.baseline(ctx); err != nil {
		log.Fatal(err)
	}
	counts := map[result]int{}
	for i, m := range chosen {
		began := time.Now()
		r, err := t.try(ctx, m)
		if err != nil {
			log.Fatal(err)
		}
		counts[r]++
		fmt.Printf("%d/%d %s in %.0f s: %s", i+1, len(chosen), r, time.Since(began).Seconds(), m)
	}
	tried := counts[caught] + counts[endless] + counts[survived]
	share := 1.0
	if tried > 0 {
		share = float64(tried-counts[survived]) / float64(tried)
	}
	fmt.Printf("of %d mutants (seed %d of %d): %d caught, %d did not end, %d survived, %d did not compile; score %.0f %%\n",
		len(chosen), *seed, len(mutants), counts[caught], counts[endless], counts[survived], counts[invalid], 100*share)
	if share < *least {
		log.Fatalf("the score is below %.0f %%", 100**least)
	}
}

// choose returns a part of the matching mutants, in a random order.
func choose(all []mutant, matching *regexp.Regexp, seed uint64, limit int) []mutant {
	var chosen []mutant
	for _, m := range all {
		if matching.MatchString(m.String()) {
			chosen = append(chosen, m)
		}
	}
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	if limit > 0 && limit < len(chosen) {
		chosen = chosen[:limit]
	}
	return chosen
}
