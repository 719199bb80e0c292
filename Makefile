# Every target with a comment behind ## shows up in `make help`.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
BIN := bin
DIST := dist
CONTROLLER_GEN := $(GO) tool -modfile=tools/codegen/go.mod controller-gen
GOLANGCI_LINT := $(GO) tool -modfile=tools/go.mod golangci-lint

# The API server the tests talk to: the folder named by KUBEBUILDER_ASSETS as
# it is, or etcd, kube-apiserver, kube-controller-manager and kubectl built
# from Go modules.
ASSETS = $${KUBEBUILDER_ASSETS:-$$($(GO) run ./test/cluster etcd kube-apiserver kube-controller-manager kubectl)}

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z0-9-]*:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/usher
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN)/usher ./cmd/usher

IMAGE ?= usher:latest
ARCH ?= $(shell $(GO) env GOARCH)
.PHONY: image
image: ## Write dist/usher.tar, an OCI image archive, and print its digest
	@CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) $(GO) build -trimpath -ldflags='-s -w' -o $(DIST)/$(ARCH)/usher ./cmd/usher
	@$(GO) -C tools/packaging run ./image -binary $(CURDIR)/$(DIST)/$(ARCH)/usher -arch $(ARCH) -name $(IMAGE) -o $(CURDIR)/$(DIST)/usher.tar

.PHONY: test
test: ## Run every test, against a real kube-apiserver where one is needed
	@assets=$(ASSETS); export KUBEBUILDER_ASSETS=$$assets; $(GO) test -p 3 -timeout 30m ./... && $(GO) -C test/certmanager test ./...

# Debian's Neutron and Keystone are unpacked into the cache folder, which takes
# two minutes the first time and needs no root where apt has its lists. NETWORKS
# is how many there are at once in one of the tests.
NETWORKS ?= 200
.PHONY: test-neutron
test-neutron: ## Run the tests that need a real OpenStack Neutron (on Debian 12)
	@assets=$(ASSETS); KUBEBUILDER_ASSETS=$$assets $(GO) test -tags neutron -count=1 -v -timeout 20m ./test/neutron/... && \
	  KUBEBUILDER_ASSETS=$$assets $(GO) test -tags neutron -count=1 -v -timeout 40m ./controllers/network/neutron/... -networks=$(NETWORKS)

.PHONY: e2e
e2e: ## Play usher's stories on a node whose pods run (Linux and root, or E2E_KUBECONFIG)
	$(GO) test -tags e2e -count=1 -parallel 6 -timeout 60m -v -p 1 ./test/cluster/node ./test/e2e

.PHONY: e2e-etcd
e2e-etcd: ## Play the stories of etcd clusters on a node whose pods run
	$(GO) test -tags e2e -count=1 -parallel 2 -timeout 60m -v ./test/etcd

FOR ?= 1m
SEED ?= 1
.PHONY: chaos
chaos: ## Break usher on a node under load, by SEED and for as long as FOR
	$(GO) test -tags e2e -count=1 -timeout 90m -v -run Breaks ./test/chaos -args -seed $(SEED) -for $(FOR)

.PHONY: race
race: ## Run every test with the race detector
	@assets=$(ASSETS); KUBEBUILDER_ASSETS=$$assets $(GO) test -race -timeout 60m ./...

.PHONY: plugins
plugins: ## Install the CNI plugins that the tests of Networks drive as root
	@test -x /usr/lib/cni/bridge || test -x /opt/cni/bin/bridge || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends containernetworking-plugins; }

# The modules beside the main one that hold code of usher's own. Their go.mod
# goes stale when the main one changes, which only a build of them tells.
MODULES = test/certmanager test/cluster/components/coredns test/cluster/components/provisioner tools/packaging

.PHONY: lint
lint: ## Check every module's go.mod, style and imports
	for module in $(MODULES); do $(GO) -C $$module vet ./...; done
	$(GOLANGCI_LINT) run ./...

.PHONY: generate
generate: ## Write the documents and manifests that come from others
	$(CONTROLLER_GEN) object paths=./api/...
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=deploy/base/crds
	for crd in deploy/base/crds/*_*.yaml; do \
	  { echo '{{- if .Values.crds.install }}'; cat "$$crd"; echo '{{- end }}'; } >"deploy/chart/usher/templates/crds/$${crd##*/}"; \
	done
	$(GO) run ./cmd/usher rules -o markdown >docs/rules.md.new && mv docs/rules.md.new docs/rules.md
	$(GO) run ./cmd/usher transitions -o markdown >docs/transitions.md.new && mv docs/transitions.md.new docs/transitions.md
	@assets=$(ASSETS); $$assets/kubectl kustomize deploy/base >deploy/usher.yaml.new && mv deploy/usher.yaml.new deploy/usher.yaml

.PHONY: demo
demo: ## Start a throwaway control plane, inject the seed's Envoy, clean up
	@assets=$(ASSETS); KUBEBUILDER_ASSETS=$$assets $(GO) run ./test/demo

FUZZTIME ?= 30s
.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (default 30s)
	$(GO) list ./... | while read -r pkg; do \
	  for target in $$($(GO) test -list '^Fuzz' "$$pkg" | grep ^Fuzz || true); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$pkg"; \
	  done; \
	done

BENCH ?=
.PHONY: bench
bench: build ## Measure usher beside the floor and write docs/performance.md
	$(GO) build -o $(BIN)/bench ./test/bench
	@assets=$(ASSETS); KUBEBUILDER_ASSETS=$$assets $(BIN)/bench $(BENCH)

.PHONY: bench-short
bench-short: BENCH = -short
bench-short: bench ## Fail where usher's share of the floor has fallen

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
