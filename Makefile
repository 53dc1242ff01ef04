# castree: everything a contributor does, one word each. `make` alone lists the words.

SWIFT ?= swift

# The debug build and the tests share their flags, so nothing is compiled twice. A module at a time, and nothing that
# the tests do not use (an index, debug information, the module files of tests): that is a third of a build's time.
# Package.swift optimizes what takes a quarter of the tests' time; not where each line or each read is looked at.
export CASTREE_OPTIMIZE_HOT := 1
coverage fuzz sanitize: export CASTREE_OPTIMIZE_HOT := 0
whole := -whole-module-optimization -num-threads 2 -no-emit-module-separately-wmo -gnone \
    -Xfrontend -disable-llvm-verify
debug := --disable-index-store -Xswiftc -warnings-as-errors $(addprefix -Xswiftc ,$(whole))
# Tests/XCTMain.swift starts the tests: else they would be looked for in the index. So Swift Testing must be asked for.
tests := --disable-xctest --enable-swift-testing

release := -c release -Xswiftc -cross-module-optimization
programs := castree castree-fsck
PREFIX ?= /usr/local
DESTDIR ?=

# How long the fuzzer and the reliability suites go on. 0: every point there is (CYCLES: every call and every write that
# can fail, and the usual number of moments and states, which have no end).
TARGET ?= all
SECONDS ?= 60
CYCLES ?= 200
LIMIT ?= 0
FILTER ?=
MINUTES ?= 1
S3_SECONDS ?= 30
WSTEST ?= wstest

swift_files := $(wildcard Package.swift Sources tools Tests)
scripts := $(wildcard scripts/* .ci/* $(addprefix Benchmarks/,all peers run serve pull bucket delivery clients fixed scale on-own-disk) \
    contrib/check Tests/Browser/run Tests/Autobahn/run Tests/FuzzTests/run \
    $(addprefix Tests/Reliability/,powercut crashpoints fulldisk stress ground check-harness sanitize \
    bucket-mutants $(addprefix s3/,run whole slice many life rights cdn faults crowd start stop ceph.sh \
    s3fault.py s3sig.py ghosts.py explore.py bucket.py origin.py pages.py people.py service.py)))

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: run test test-all check fmt setup build build-tools install uninstall clean help browser autobahn fuzz
.PHONY: bench bench-peers bench-engine bench-serve bench-clients bench-pull bench-bucket bench-delivery bench-scale
.PHONY: contrib errors starts huge docs powercut crashpoints fulldisk stress ground harness-check sanitize coverage s3

run: ## build, then push two real releases to a kiosk and show every step
	@echo "castree: the programs are built first, which takes some minutes the first time and seconds later."
	@echo "Then two releases of a real web app go to a kiosk, and a broken one comes back, on one screen."
	@$(MAKE) --no-print-directory build
	@scripts/setup run || echo "make run: going on without; the sample app will do"
	@scripts/run

test: export CASTREE_TEST_WHOLE := $(CASTREE_TEST_WHOLE)
test: setup check ## check, build with warnings as errors, run all tests (FILTER=REGEX: some)
	$(SWIFT) build $(debug) $(tests) --build-tests
	@SWIFT=$(SWIFT) scripts/docs
	@SWIFT_BACKTRACE=enable=no FILTER='$(FILTER)' scripts/test \
	    .build/debug/castreePackageTests.xctest --testing-library swift-testing

test-all: ## all tests, and of the enumerations all points, where make test takes a part
	@$(MAKE) --no-print-directory test CASTREE_TEST_WHOLE=1

check: ## lint the Swift files, parse the scripts, compare the figures of README.md
	$(SWIFT) format lint --strict --recursive --parallel $(swift_files)
	@for script in $(scripts); do \
	    case "$$(head -n 1 "$$script")" in \
	        '#!'*python3*) python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' \
	            "$$script" ;; \
	        '#!'*bash*) bash -n "$$script" ;; \
	        '#!'*sh*) sh -n "$$script" ;; \
	    esac || exit; \
	done
	@Tests/Reliability/bucket-mutants --places
	@scripts/readme --check

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

contrib: ## build, then try the units, configurations and the Dockerfile of contrib/, with a real browser
	@scripts/setup contrib
	@$(MAKE) --no-print-directory build
	contrib/check

browser: ## build, then prove the server with a real Chromium, wget, aria2 and nginx
	@scripts/setup browser
	@$(MAKE) --no-print-directory build-tools
	Tests/Browser/run

autobahn: ## build, then run the Autobahn suite against the WebSocket (WSTEST=wstest)
	@scripts/setup
	@$(MAKE) --no-print-directory build-tools
	Tests/Autobahn/run --wstest $(WSTEST)

bench-serve: ## build, then measure the server against nginx
	@scripts/setup bench
	@$(MAKE) --no-print-directory build
	$(SWIFT) build $(release) --product Echo
	Benchmarks/serve

bench-clients: ## build, then measure the answers to clients of other systems, and archives against nginx
	@scripts/setup bench
	@$(MAKE) --no-print-directory build
	Benchmarks/clients

bench-pull: ## build, then measure pull against curl and ostree
	@scripts/setup bench
	@$(MAKE) --no-print-directory build
	Benchmarks/pull

bench-delivery: ## build, then measure what releases cost over the air, by every way there is
	@scripts/setup delivery
	@$(MAKE) --no-print-directory build
	Benchmarks/delivery

bench-bucket: ## build, then measure origins in buckets against aws s3 sync, rclone and curl (root: Ceph RGW)
	@scripts/setup bucket
	@$(MAKE) --no-print-directory build
	Benchmarks/bucket

bench-scale: ## build, then measure stores of up to a million objects
	@scripts/setup bench
	@$(MAKE) --no-print-directory build
	Benchmarks/scale

fuzz: ## fuzz every reader of foreign bytes (TARGET=all SECONDS=60)
	@scripts/setup
	Tests/FuzzTests/run $(TARGET) $(SECONDS)

docs: setup ## build the site of the libraries' documentation, .build/docs
	$(SWIFT) build $(debug) --target CurlTransport
	$(SWIFT) build $(debug) --target ServeFromCAS
	$(SWIFT) build $(debug) --target ArchiveReading
	@SWIFT=$(SWIFT) scripts/docs

errors: setup ## let every call to the disk fail with every error, and anything stand at every path of a store
	$(SWIFT) build $(debug) $(tests) --build-tests
	CASTREE_TEST_ALL=1 CASTREE_TEST_WHOLE=1 SWIFT_BACKTRACE=enable=no $(SWIFT) test $(debug) $(tests) \
	    --skip-build --filter '^ReliabilityTests\.ErrorTests|^CommandTests\.StrangerTests'

starts: setup ## try every order of events around starts, to the end
	$(SWIFT) build $(debug) $(tests) --build-tests
	CASTREE_TEST_STARTS=whole SWIFT_BACKTRACE=enable=no $(SWIFT) test $(debug) $(tests) --skip-build \
	    --filter '^StartTests\.'

huge: setup ## take a file of more than 4 GiB through store, server, check and collection
	$(SWIFT) build $(debug) $(tests) --build-tests
	CASTREE_TEST_HUGE=1 SWIFT_BACKTRACE=enable=no $(SWIFT) test $(debug) $(tests) --skip-build \
	    --filter '^ServeFromCASTests\.HugeFileTests'

powercut: ## build, then cut the power under every verb, on three file systems (root)
	@scripts/setup reliability
	@$(MAKE) --no-print-directory build-tools
	Tests/Reliability/powercut --cycles $(CYCLES)

crashpoints: ## build, then kill and refuse at every file-system call of every verb
	@scripts/setup reliability
	@$(MAKE) --no-print-directory build-tools
	Tests/Reliability/crashpoints --limit $(LIMIT)

fulldisk: ## build, then run all on disks that are full, read-only, over quota (root)
	@scripts/setup reliability
	@$(MAKE) --no-print-directory build-tools
	Tests/Reliability/fulldisk

stress: ## build, then let many processes at one store, and at one origin, and kill some: MINUTES=30
	@scripts/setup reliability
	@$(MAKE) --no-print-directory build-tools
	Tests/Reliability/stress --minutes $(MINUTES)
	Tests/Reliability/publishers --minutes $(MINUTES)

ground: ## build, then run the main verbs on foreign file systems, users, kernels, copies (root)
	@scripts/setup ground
	@$(MAKE) --no-print-directory build
	Tests/Reliability/ground

s3: ## hold origins in buckets against a real S3 server (Ceph RGW; root where it is missing): S3_SECONDS=600
	@scripts/setup s3
	$(SWIFT) build $(debug) $(tests) --build-tests
	SWIFT_BACKTRACE=enable=no Tests/Reliability/s3/run $(SWIFT) test $(debug) $(tests) --skip-build \
	    --filter '^(Storage|S3)Tests\.'
	Tests/Reliability/s3/run Tests/Reliability/s3/whole --programs .build/debug --seconds $(S3_SECONDS)

harness-check: ## build, then show that the suites above see a broken engine (root)
	@scripts/setup reliability
	@$(MAKE) --no-print-directory build-tools
	Tests/Reliability/check-harness

sanitize: setup ## all tests under the thread and the address sanitizer
	Tests/Reliability/sanitize

coverage: setup ## run the tests and say which lines of Sources they reach (FILTER=…)
	scripts/coverage $(FILTER)

setup: ## install what building and testing need
	@scripts/setup

build: setup ## build the programs into .build/release
	@for program in $(programs); do $(SWIFT) build $(release) --product $$program || exit; done

# What the suites of Tests/Reliability, Tests/Browser and Tests/Autobahn start besides.
build-tools: setup
	$(SWIFT) build $(release)

install: ## put programs, manual pages and completions below PREFIX (/usr/local), DESTDIR before it
	@scripts/install --prefix '$(PREFIX)' --destdir '$(DESTDIR)'

uninstall: ## take away what make install put there
	@scripts/install --prefix '$(PREFIX)' --destdir '$(DESTDIR)' --uninstall

clean: ## remove what building made; downloads and the demo store stay
	rm -rf .build

help: ## list these words
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | \
	    while IFS='|' read -r word meaning; do printf '  make %-14s %s\n' "$$word" "$$meaning"; done
