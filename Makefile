# Everything a developer or CI runs. "make test" needs a Debian machine, root for
# the first fetch, and nothing else but Go.

VERSION       ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LINT_VERSION  := v2.15.0
TEST_TIMEOUT  ?= 45m
FUZZTIME      ?= 1000000x
PKGS          ?= ./...

.PHONY: help build demo test-short test fetch serve bench fuzz lint docs clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## bin/offsetctl
	go build -trimpath -ldflags "-X github.com/offsetctl/offsetctl/cmd.Version=$(VERSION)" -o bin/offsetctl .

demo: ## the whole main job on an embedded broker
	go run . demo

test-short: ## the tests that need no server
	go test -short $(PKGS)

test: bin/supervisor fetch ## all tests, on real servers, with no network but loopback
	bin/supervisor run -- go test -race -count=1 -timeout $(TEST_TIMEOUT) -p 2 $(PKGS)

fetch: bin/supervisor ## get everything that the servers are made of
	bin/supervisor fetch

serve: bin/supervisor ## keep real servers for "go test" in other terminals
	bin/supervisor serve

.PHONY: bin/supervisor
bin/supervisor:
	go build -o $@ ./internal/testservers/supervisor

bench: bin/supervisor fetch ## offsetctl beside other programs, then every benchmark once
	bin/supervisor run -- go run ./internal/bench $(BENCHFLAGS)
	go test -short -run '^$$' -bench . -benchmem $(PKGS)

fuzz: ## every fuzz target, for FUZZTIME each (10^6 executions, or such as 30s)
	.ci/fuzz $(FUZZTIME)

lint: bin/golangci-lint-$(LINT_VERSION) ## formatting, vet and golangci-lint
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted: $$unformatted"; exit 1; }
	go vet ./...
	$< run ./...

bin/golangci-lint-$(LINT_VERSION):
	GOBIN=$(CURDIR)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv bin/golangci-lint $@

docs: ## the pages that are made from the program
	go generate ./docs/...

clean: ## remove what was built
	rm -rf bin dist
