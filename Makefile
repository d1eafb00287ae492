# MadoHub. `make help` lists the targets; a fresh machine with Go needs nothing else.

GO        ?= go
PREFIX    ?= /usr/local
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS   := -s -w -X main.version=$(VERSION)
BUILD     := CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)'
AGENTS    ?= $(CURDIR)/.cache/agents
FUZZTIME  ?= 20s

# Versions of the tools that check; they are built in the cache and are no dependencies of the module.
GOFUMPT      := mvdan.cc/gofumpt@v0.12.0
STATICCHECK  := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOLANGCI     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
TOOLS        := $(CURDIR)/.cache/bin

.DEFAULT_GOAL := help
.PHONY: help demo build install test unit system race budgets check fmt format vet lint fuzz test-agents matrix bench latency clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## see two agents review each other, in a private tmux, without any key
	@./scripts/demo.sh

build: ## build bin/madohub and bin/madohubctl
	$(BUILD) -o bin/ ./cmd/madohub ./cmd/madohubctl

# Under sudo there may be no Go: what was built is installed then.
install: $(if $(shell command -v $(GO)),build) ## install both into $(PREFIX)/bin
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 bin/madohub bin/madohubctl '$(DESTDIR)$(PREFIX)/bin/'

test: tmux ## unit and system tests
	$(GO) test -timeout 20m ./...

unit: ## the tests that need no tmux server
	$(GO) test -timeout 20m ./agent/... ./api/... ./config/... ./mailbox/... ./record/... ./route/... ./store/...

system: tmux ## the tests that run real binaries on a private tmux server
	$(GO) test -count=1 ./cmd/... ./daemon/... ./scripts/...

race: tmux ## all tests with the race detector, in random order
	$(GO) test -race -shuffle=on -timeout 20m ./...

budgets: ## sizes, documentation and import arrows
	$(GO) test -count=1 ./scripts/checks

check: format vet lint race budgets ## everything that must hold before a change goes in

fmt: ## format the tree
	$(GO) run $(GOFUMPT) -w .

format: # fails and lists what gofumpt would change
	@files=$$($(GO) run $(GOFUMPT) -l .) || exit 1; \
	if [ -n "$$files" ]; then echo "gofumpt would change (make fmt):"; echo "$$files"; exit 1; fi

vet:
	$(GO) vet ./...
	$(GO) vet -tags agents ./scripts/realagents

lint: $(TOOLS)/golangci-lint ## staticcheck and golangci-lint
	$(GO) run $(STATICCHECK) ./...
	$(TOOLS)/golangci-lint run

$(TOOLS)/golangci-lint: Makefile
	GOBIN=$(TOOLS) $(GO) install $(GOLANGCI)
	@touch $@

fuzz: ## fuzz every parser for $(FUZZTIME)
	@set -e; for p in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -rhoE '^func Fuzz[A-Za-z0-9_]+' $$p/*_test.go | cut -c6-); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p; done; done

test-agents: tmux ## real Claude Code against a model server on loopback
	@if [ "$$SKIP_AGENTS" = 1 ]; then echo "test-agents: SKIPPED, because SKIP_AGENTS=1"; else ./scripts/test-agents.sh; fi

matrix: tmux ## test-agents with 20 deliveries in a row; MADOHUB_ROUNDS=n repeats them
	MADOHUB_MATRIX=1 ./scripts/test-agents.sh

bench: tmux ## measure what watching costs
	$(GO) run ./scripts/bench

latency: tmux ## measure from the end of a turn to the first key
	$(GO) run ./scripts/latency

.PHONY: tmux
tmux:
	@./scripts/need-tmux.sh

clean: ## remove what was built
	rm -rf bin dist
