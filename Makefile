# Every target with a comment behind ## shows up in `make help`.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# Only the race detector needs C. All other commands build without it, so that
# they share what they compile.
export CGO_ENABLED ?= 0
BIN := bin
DIST := dist
CONTROLLER_GEN := $(GO) tool -modfile=tools/codegen/go.mod controller-gen
GOLANGCI_LINT := $(GO) tool -modfile=tools/go.mod golangci-lint
ACTIONLINT := $(GO) tool -modfile=tools/workflows/go.mod actionlint
# Runs go test and ends with a summary.
SUITE := $(GO) run ./test/suite

# The API server the tests talk to: the folder named by KUBEBUILDER_ASSETS as
# it is, or etcd, kube-apiserver, kube-controller-manager and kubectl built
# from Go modules.
ASSETS = $${KUBEBUILDER_ASSETS:-$$($(GO) run ./test/cluster etcd kube-apiserver kube-controller-manager kubectl)}

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z0-9-]*:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/usher, the command line, and the programs of the images
	$(GO) build -o $(BIN)/ ./cmd/...

# The main image has all programs, the one for users' pods only those of pods. The
# first program is /usher, which runs the others.
POD_PROGRAMS = usher-entrypoint usher-redirect usher-pod usher-bucket
MAIN_PROGRAMS = $(POD_PROGRAMS) usher-webhook usher-controller
BINARIES = $(foreach program,$(1),-binary $(CURDIR)/$(DIST)/$(ARCH)/$(program):/$(program:usher-entrypoint=usher))
IMAGE ?= usher:latest
POD_IMAGE ?= usher-pod:latest
ARCH ?= $(shell $(GO) env GOARCH)
.PHONY: image
image: ## Write dist/usher.tar and dist/usher-pod.tar, OCI image archives, and print their digests
	@mkdir -p $(DIST)/$(ARCH)
	@CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) $(GO) build -trimpath -ldflags='-s -w' -o $(DIST)/$(ARCH)/ $(addprefix ./cmd/,$(MAIN_PROGRAMS))
	@$(GO) -C tools/packaging run ./image $(call BINARIES,$(MAIN_PROGRAMS)) -arch $(ARCH) -name $(IMAGE) -o $(CURDIR)/$(DIST)/usher.tar
	@$(GO) -C tools/packaging run ./image $(call BINARIES,$(POD_PROGRAMS)) -arch $(ARCH) -name $(POD_IMAGE) -o $(CURDIR)/$(DIST)/usher-pod.tar

CLI_IMAGE ?= usher-cli:latest
.PHONY: image-cli
image-cli: ## Write dist/usher-cli.tar, an OCI image archive of the command line, and print its digest
	@mkdir -p $(DIST)/$(ARCH)
	@CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) $(GO) build -trimpath -ldflags='-s -w' -o $(DIST)/$(ARCH)/ ./cmd/usher
	@$(GO) -C tools/packaging run ./image $(call BINARIES,usher) -folder /tmp -arch $(ARCH) -name $(CLI_IMAGE) -o $(CURDIR)/$(DIST)/usher-cli.tar

VERSION ?= $(shell sed -n 's/^const Next = "\(.*\)"/\1/p' finding/release/version.go)
.PHONY: release
release: ## Write the files of release VERSION into dist/release (docs/releasing.md)
	@assets=$(ASSETS); GO=$(GO) KUBECTL=$$assets/kubectl tools/release/build "$(VERSION)"

.PHONY: release-check
release-check: ## Check dist/release, or the folder RELEASE
	@assets=$(ASSETS); KUBEBUILDER_ASSETS=$$assets RELEASE="$(abspath $(or $(RELEASE),$(DIST)/release))" $(GO) test -tags release -count=1 -v ./test/release

.PHONY: release-push
release-push: ## Push the images and the chart of dist/release (GITHUB_ACTOR, GITHUB_TOKEN)
	@GO=$(GO) tools/release/push "$(VERSION)"

# COSIGN are flags of cosign, such as --key cosign.key; without a key the identity
# of the workflow signs.
COSIGN ?=
.PHONY: release-sign
release-sign: ## Sign what was pushed, and attest its provenance and SBOMs
	@GO=$(GO) tools/release/sign "$(VERSION)" $(COSIGN)

.PHONY: release-scan
release-scan: ## Look for known vulnerabilities in what make release built (VULNDB=https://vuln.go.dev or file://...)
	@GO=$(GO) VULNDB=$(VULNDB) tools/release/scan

# ARGS are further arguments of go test, such as -count=1, SUMMARY those of the
# suite. Test binaries link faster without debug information.
ARGS ?=
SUMMARY ?=
.PHONY: test
test: ## Run every test, against a real kube-apiserver where one is needed
	@$(SUITE) -shared -modules .,test/certmanager $(SUMMARY) -- $(TEST) $(ARGS) ./...

# With the same arguments make test finds these results in Go's cache.
TEST = -p 4 -timeout 30m -ldflags=-w
# Packages that decide and start nothing.
PURE = api config etcd finding injector jsonscan kinds network policies suggest verdict yaml
.PHONY: test-pure
test-pure: ## Run the tests that need nothing but Go
	@$(SUITE) $(SUMMARY) -- $(TEST) $(ARGS) $(PURE:%=./%/...)

# Debian's Neutron and Keystone are unpacked into the cache folder, which takes
# two minutes the first time and needs no root where apt has its lists. NETWORKS
# is how many there are at once in one of the tests.
NETWORKS ?= 200
.PHONY: test-neutron
test-neutron: ## Run the tests that need a real OpenStack Neutron (on Debian 12)
	@assets=$(ASSETS); export KUBEBUILDER_ASSETS=$$assets; \
	  $(SUITE) -all -- -tags neutron -count=1 -v -timeout 20m ./test/neutron/... && \
	  $(SUITE) -all -- -tags neutron -count=1 -v -timeout 40m ./controllers/network/neutron/... -networks=$(NETWORKS)

# Which tests of etcd clusters as processes only have the build tag e2e.
STORIES = $$(grep -rlE --include='*_test.go' '^//go:build .*\be2e\b' controllers/etcd test/etcdsafety | xargs grep -hoE '^func Test[A-Za-z0-9_]+' | cut -d' ' -f2 | paste -sd'|')
.PHONY: e2e-processes
e2e-processes: ## Fire every alert, and play the long stories of etcd clusters, as processes
	@assets=$(ASSETS); export KUBEBUILDER_ASSETS=$$assets; \
	  $(SUITE) -- -tags e2e -count=1 -p 2 -timeout 40m -run "Alerted|^($(STORIES))$$" ./test/process ./test/etcdsafety ./controllers/etcd...

.PHONY: e2e
e2e: ## Play usher's stories on a node whose pods run (Linux and root, or E2E_KUBECONFIG)
	@assets=$(ASSETS); export KUBEBUILDER_ASSETS=$$assets; \
	  $(SUITE) -- -tags e2e -count=1 -parallel 6 -timeout 60m -v -p 1 ./test/cluster/node ./test/e2e ./test/tasks

# How many stories are played at once on the node, how long members are broken
# at random, and by how many seeds.
PARALLEL ?= 4
KILL_FOR ?= 1m
SEEDS ?= 1
.PHONY: e2e-etcd
e2e-etcd: ## Play the stories of etcd clusters on a node
	@assets=$(ASSETS); export KUBEBUILDER_ASSETS=$$assets; \
	  $(SUITE) -- -tags e2e -count=1 -parallel $(PARALLEL) -timeout 90m -v ./test/etcd -kill-for=$(KILL_FOR) -seeds=$(SEEDS)

FOR ?= 1m
SEED ?= 1
.PHONY: chaos
chaos: ## Break usher on a node under load, by SEED and for as long as FOR
	$(GO) test -tags e2e -count=1 -timeout 90m -v -run Breaks ./test/chaos -args -seed $(SEED) -for $(FOR)

.PHONY: race
race: export CGO_ENABLED = 1
race: ## Run every test with the race detector
	@$(SUITE) -shared -- -race -p 2 -timeout 60m $(ARGS) ./...

SCENES ?= 10000
.PHONY: differential
differential: ## Play SCENES generated scenes of SEED in the cluster and on files
	@assets=$(ASSETS); KUBEBUILDER_ASSETS=$$assets $(GO) test -tags soak -count=1 -timeout 120m -v -run EverySurface ./test/differential -args -scenes $(SCENES) -seed $(SEED)

CREATES ?= 10000
UPDATES ?= 3000
.PHONY: conformance
conformance: ## Judge CREATES objects and UPDATES changes, generated by SEED, as a real kube-apiserver does
	@assets=$(ASSETS); KUBEBUILDER_ASSETS=$$assets $(GO) test -count=1 -timeout 60m -v -tags soak -run 'Creates|Updates|Manifests|Policies' ./test/conformance -args -creates $(CREATES) -updates $(UPDATES) -seed $(SEED)

# The versions of Kubernetes whose API servers the matrix runs; all that
# test/cluster builds by default.
VERSIONS ?= 1.30 1.33 1.36 1.37
.PHONY: matrix
matrix: ## Run the features on API servers of VERSIONS, with CREATES and UPDATES
	@$(GO) run ./test/matrix -versions "$(VERSIONS)" -creates $(CREATES) -updates $(UPDATES)

# How long random sequences of edits and faults are walked in the model of etcd
# clusters.
WALK ?= 20m
# The seeds and sizes that CI has no time for, in parts that are jobs of
# .github/workflows/soak.yml, which ends each after five hours. Tests that only
# make sense at that length have the build tag soak.
SOAK = race fuzz tests walk mutate pages neutron processes matrix e2e e2e-etcd chaos release bench
.PHONY: soak $(SOAK:%=soak-%)
soak: ## Run what takes hours: long seeds and full corpora (weekly; Linux, root)
	for part in $(SOAK); do $(MAKE) soak-$$part; done
soak-race:
	$(MAKE) race
soak-fuzz:
	$(MAKE) fuzz FUZZTIME=5m
soak-tests:
	@packages=$$(grep -rlE --include='*_test.go' '^//go:build .*\bsoak\b' . | grep -v '^./test/certmanager/' | xargs -r -n1 dirname | sort -u); \
	  if [ -n "$$packages" ]; then $(SUITE) -shared -- -tags soak -count=1 -p 1 -timeout 3h $$packages; fi
	$(SUITE) -shared -modules test/vpa -- -count=1 ./...
	$(SUITE) -shared -modules test/certmanager -- -tags soak -count=1 -timeout 30m -run ThreeTimes ./...
soak-walk:
	$(GO) test -count=1 -timeout 2h -v ./etcd/plan -args -walk=$(WALK)
# Each week another seed. The left out test plants mistakes itself.
soak-mutate:
	$(MAKE) mutate MUTANTS=300 SEED=$$(date +%V) ARGS="-skip TestMistakes"
soak-pages:
	$(MAKE) pages
soak-neutron:
	$(MAKE) test-neutron
soak-processes:
	$(MAKE) e2e-processes
soak-matrix:
	$(MAKE) matrix
soak-e2e:
	$(MAKE) e2e
	$(SUITE) -- -tags e2e,soak -count=1 -timeout 60m -v -run Checkout ./test/tasks
soak-e2e-etcd:
	$(MAKE) e2e-etcd KILL_FOR=10m SEEDS=3
soak-chaos:
	$(MAKE) chaos FOR=30m
soak-release:
	$(MAKE) release release-check
soak-bench:
	$(MAKE) bench

# PKG is the folder of a package, MUTANTS how many of its mutants SEED chooses (0:
# all), and LEAST the smallest share that its tests must catch.
PKG ?= etcd/plan
MUTANTS ?= 60
LEAST ?= 0
.PHONY: mutate
mutate: ## Change PKG's source in small ways, and list the changes that its tests do not notice
	$(GO) -C tools/mutate build -o $(CURDIR)/$(BIN)/ .
	$(BIN)/mutate -seed $(SEED) -limit $(MUTANTS) -min $(LEAST) $(PKG) -- $(ARGS)

# The other modules with usher's own code. Their go.mod goes stale when the main one
# changes, which only a build of them shows.
MODULES = test/certmanager test/cluster/components/coredns test/cluster/components/provisioner tools/mutate tools/packaging tools/prose tools/record tools/versions

# The texts that the list of words in tools/prose applies to.
PROSE = $(wildcard *.md docs/*.md docs/controllers/*.md deploy/chart/usher/README.md deploy/chart/usher/README.md.gotmpl deploy/chart/usher/values.yaml deploy/chart/usher/templates/NOTES.txt deploy/base/crds/*_*.yaml deploy/monitoring/alerts.yaml)
# The code whose strings are help, rules, transitions, Events, conditions and messages.
MESSAGES = $(shell find api certs cli cmd config controllers etcd facts finding injector kinds network policies redirect suggest verdict webhook yaml -name "*.go" ! -name "*_test.go")

.PHONY: lint
lint: prose ## Check every module's go.mod, style, imports and prose
	$(ACTIONLINT)
	GOGC=$${GOGC:-200} $(GOLANGCI_LINT) run --allow-parallel-runners ./...
	for module in $(MODULES); do $(GO) -C $$module vet ./...; done

.PHONY: prose
prose: ## Check documents, definitions, chart values, help and messages against tools/prose/words.tsv
	@$(GO) -C tools/prose test ./...
	@$(GO) -C tools/prose run . -root $(CURDIR) $(PROSE)
	@$(GO) -C tools/prose run . -root $(CURDIR) -comments=false $(MESSAGES)

.PHONY: generate
generate: ## Write the documents and manifests that come from others
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=deploy/base/crds
	for crd in deploy/base/crds/*_*.yaml; do \
	  { echo '{{- if .Values.crds.install }}'; cat "$$crd"; echo '{{- end }}'; } >"deploy/chart/usher/templates/crds/$${crd##*/}"; \
	done
	$(GO) -C tools/versions run . >cli/apiserver/fields.tsv.new && mv cli/apiserver/fields.tsv.new cli/apiserver/fields.tsv
	for copy in overlays/takeover chart/usher/files; do cp deploy/templates/envoy-takeover.yaml "deploy/$$copy/"; done
	$(GO) run ./cmd/usher rules -o markdown >docs/rules.md.new && mv docs/rules.md.new docs/rules.md
	$(GO) run ./cmd/usher transitions -o markdown >docs/transitions.md.new && mv docs/transitions.md.new docs/transitions.md
	$(GO) run ./test/schemas . docs/schemas
	@assets=$(ASSETS); for manifest in base:usher base/crds:crds; do \
	  $$assets/kubectl kustomize deploy/$${manifest%:*} >deploy/manifest.new && mv deploy/manifest.new deploy/$${manifest#*:}.yaml; \
	done
	{ printf '%s\n' '# The rules of alerts.yaml and service-levels.yaml, by make generate.' 'apiVersion: monitoring.coreos.com/v1' 'kind: PrometheusRule' \
	  'metadata:' '  name: usher' '  labels: {app.kubernetes.io/name: usher}' 'spec:' '  groups:'; \
	  for rules in alerts service-levels; do sed '1,/^groups:/d; s/^/  /' deploy/monitoring/$$rules.yaml; done; } >deploy/monitoring/prometheusrule.yaml
	cp deploy/monitoring/alerts.yaml deploy/monitoring/service-levels.yaml deploy/monitoring/*.json deploy/chart/usher/files/
	cd tools/packaging && $(GO) tool helm-docs --chart-search-root=../../deploy/chart --template-files=README.md.gotmpl --sort-values-order=file

# The commands need no cluster.
.PHONY: recording
recording: build ## Run the commands that the documents show, and write their output and docs/terminal.svg
	$(GO) -C tools/record build -o $(CURDIR)/$(BIN)/ .
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/record -svg docs/terminal.svg -session docs/examples/session README.md docs/getting-started.md

.PHONY: demo
demo: ## Start a throwaway control plane, inject the seed's Envoy, clean up
	@$(GO) run ./test/demo

.PHONY: pages
pages: ## Open the pages of check and diff in Chromium, and write screenshots to dist/pages (Node.js 20)
	$(GO) build -o $(BIN)/ ./cmd/usher
	@test/pages/run $(BIN)/usher $(DIST)/pages

FUZZTIME ?= 30s
.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (default 30s)
	@grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sort | while IFS=: read -r file function; do \
	  echo "$$file $${function#func }"; \
	  $(GO) test -run '^$$' -fuzz "^$${function#func }$$" -fuzztime $(FUZZTIME) "$${file%/*}"; \
	done

BENCH ?=
.PHONY: bench
bench: ## Compare usher with a baseline and write docs/performance.md
	$(GO) build -o $(BIN)/ ./cmd/... ./test/bench
	@assets=$(ASSETS); KUBEBUILDER_ASSETS=$$assets $(BIN)/bench $(BENCH)

.PHONY: bench-short
bench-short: BENCH = -short
bench-short: bench ## Fail where a review takes more processor time than in the previous release

# AGAINST is a commit, or a program. With PEERS=1 Istio's injector runs beside
# them, which takes long to compile.
AGAINST ?= $(shell sed -n 's/^const Commit = "\(.*\)"/\1/p' test/previous/previous.go)
PEERS ?=
.PHONY: bench-against
bench-against: BENCH = -against $(AGAINST) $(if $(PEERS),-peer Istio=$(CURDIR)/$(BIN)/istio-injector)
bench-against: $(if $(PEERS),$(BIN)/istio-injector) bench ## Compare a review's processor time with the server of AGAINST

.PHONY: $(BIN)/istio-injector
$(BIN)/istio-injector:
	$(GO) -C test/istio/injector build -o $(CURDIR)/$@ .

.PHONY: bench-stages
bench-stages: ## Run the Go benchmarks of every stage, for benchstat
	$(GO) test -run '^$$' -bench . -benchmem -count 6 ./webhook ./injector ./policies/...

.PHONY: cluster
cluster: ## Start a whole node on this machine, if none runs (Linux, root)
	@$(GO) run ./test/cluster up

.PHONY: cluster-down
cluster-down: ## Take the node down, also what a crash left of one
	@$(GO) run ./test/cluster down

.PHONY: assets
assets: ## Build the control plane's programs and print their folder
	@echo $(ASSETS)

.PHONY: clean
clean: ## Remove what was built here
	rm -rf $(BIN) $(DIST)
