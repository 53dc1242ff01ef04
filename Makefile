# castree: everything a contributor does, one word each. `make` alone lists the words.

SWIFT ?= swift

# The debug build and the tests share their flags, so nothing is compiled twice.
debug := -Xswiftc -warnings-as-errors
tests := --disable-xctest

# Tests that start programs by the hundred run after the others: between fork and exec a new process has
# all files, locks and sockets of the one that starts it, and the others' tests look at just those.
programs := ^(CommandTests|StressTests)\.

TARGET ?= all
SECONDS ?= 60

release := -c release -Xswiftc -cross-module-optimization

swift_files := $(wildcard Package.swift Sources tools Tests)
scripts := $(wildcard scripts/* .ci/* $(addprefix Benchmarks/,all peers run serve pull scale on-own-disk) \
    Tests/Browser/run Tests/FuzzTests/run)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: run test check fmt bench bench-peers bench-engine bench-serve bench-pull bench-scale browser fuzz \
    setup build clean help

run: setup build ## build, then push two real releases through a store and show every step
	@scripts/setup run || echo "make run: going on without; the sample app will do"
	@scripts/run

test: setup check ## check, build with warnings as errors, run all tests
	$(SWIFT) build $(debug)
	SWIFT_BACKTRACE=enable=no scripts/test $(SWIFT) test $(debug) $(tests) --skip '$(programs)'
	SWIFT_BACKTRACE=enable=no scripts/test $(SWIFT) test $(debug) $(tests) --filter '$(programs)'

check: ## lint the Swift files, parse the scripts
	$(SWIFT) format lint --strict --recursive --parallel $(swift_files)
	@for script in $(scripts); do \
	    case "$$(head -n 1 "$$script")" in \
	        '#!'*python3*) python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' \
	            "$$script" ;; \
	        '#!'*bash*) bash -n "$$script" ;; \
	        '#!'*sh*) sh -n "$$script" ;; \
	    esac || exit; \
	done

fmt: ## rewrite the Swift files in the project's format
	$(SWIFT) format --in-place --recursive --parallel $(swift_files)

bench: ## build, then measure everything against every peer, into docs/performance.md
	@scripts/setup bench
	@$(MAKE) --no-print-directory build
	$(SWIFT) build $(release) --product Echo
	Benchmarks/all

bench-peers: ## build, then compare with ostree, git, restic, casync, rsync
	@scripts/setup bench
	@$(MAKE) --no-print-directory build
	Benchmarks/peers

bench-engine: ## build, then measure against plain C and ostree
	@scripts/setup bench
	@$(MAKE) --no-print-directory build
	Benchmarks/run

browser: ## build, then prove the server with a real Chromium, wget, aria2 and nginx
	@scripts/setup browser
	@$(MAKE) --no-print-directory build
	Tests/Browser/run

bench-serve: ## build, then measure the server against nginx
	@scripts/setup bench
	@$(MAKE) --no-print-directory build
	$(SWIFT) build $(release) --product Echo
	Benchmarks/serve

bench-pull: ## build, then measure pull against curl and ostree
	@scripts/setup bench
	@$(MAKE) --no-print-directory build
	Benchmarks/pull

bench-scale: ## build, then measure stores of up to a million objects
	@scripts/setup bench
	@$(MAKE) --no-print-directory build
	Benchmarks/scale

fuzz: ## fuzz every reader of foreign bytes (TARGET=all SECONDS=60)
	@scripts/setup
	Tests/FuzzTests/run $(TARGET) $(SECONDS)

setup: ## install what building and testing need
	@scripts/setup

build: ## build the release programs into .build/release
	$(SWIFT) build $(release)

clean: ## remove what building made; downloads and the demo store stay
	rm -rf .build

help: ## list these words
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | \
	    while IFS='|' read -r word meaning; do printf '  make %-12s %s\n' "$$word" "$$meaning"; done
