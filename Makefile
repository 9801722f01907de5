# SPDX-License-Identifier: MIT
# A thin face: what to type. The building itself stands in CMakeLists.txt.
.PHONY: all demo demo-build check test test-all test-disturbed tests-built bench goals matrix mutants lint \
	sanitizers sanitizers-all fresh nightly clean

# What `all` builds; all: everything that is configured.
TARGET = all
# The tests need more packages than the programs, so they are configured only for the goals that
# run some of them. build/ then keeps them.
tests-built matrix: export CONFIGURE = -DBUILD_TESTING=ON

all:
	@cmake --preset release $(CONFIGURE) >build.log 2>&1 || { cat build.log; rm -f build.log; exit 1; }; rm -f build.log
	@cmake --build --preset release --target $(TARGET)

demo: demo-build
	@echo "demo: 3/3 an online and an offline process on one software GPU (one to two minutes)"
	@packaging/demo.sh

# The part of demo that needs no GPU and no quiet machine.
demo-build:
	@echo "demo: 1/3 packages"
	@packaging/deps.sh demo
	@echo "demo: 2/3 build"
	@$(MAKE) --no-print-directory all TARGET=demo_programs

# For each change, in a minute beside the build: lint of the files that differ from the upstream
# branch, and the unit tests.
check: tests-built
	@ci/lint.sh --changed
	@ctest --test-dir build --output-on-failure --no-tests=error -j 4 -L quick -R '^unit/'

# The quick tests (docs/internals/testing.md), four at a time because most of them wait.
test: tests-built
	@ctest --test-dir build --output-on-failure --no-tests=error -j 4 -L quick

# Every test.
test-all: tests-built
	@ctest --test-dir build --output-on-failure --no-tests=error -j 4

# N times the quick tests, each time beside a program that takes each core away at random.
N = 20
test-disturbed: tests-built
	@tests/stress/disturbed.sh $(N)

tests-built:
	@packaging/deps.sh test
	@$(MAKE) --no-print-directory all

# What the software GPU and the shim cost here, as figures: a table and a plot each.
bench:
	@packaging/deps.sh build bench
	@$(MAKE) --no-print-directory all TARGET=bench_programs
	@tests/bench/run.sh

# What offline keeps and what online pays, beside what is possible: a table with its goals.
# GOALS: options of tests/bench/goals.sh, such as --short.
goals:
	@packaging/deps.sh demo
	@$(MAKE) --no-print-directory all TARGET=demo_programs
	@tests/bench/goals.sh $(GOALS)

# Unmodified programs with each generation of the runtimes, and one table.
matrix:
	@packaging/deps.sh build matrix
	@$(MAKE) --no-print-directory all TARGET=matrix_programs
	@ci/matrix.sh

# Would the tests notice? Breaks one line of a copy after the other: docs/internals/testing-long.md.
mutants:
	@packaging/deps.sh test
	@tests/mutation/mutants.py

lint:
	@packaging/deps.sh test
	@ci/lint.sh

# The unit and process tests once more, with our programs under ASan and UBSan; the
# agent and the channel under ThreadSanitizer. Of both the quick ones; sanitizers-all: all.
sanitizers: SPEED = -L quick
sanitizers sanitizers-all:
	@packaging/deps.sh test
	@cmake --preset sanitizers >/dev/null
	@cmake --build --preset sanitizers
	@ctest --test-dir build-sanitizers --output-on-failure --no-tests=error -j 4 -L sanitizers $(SPEED)
	@cmake --preset thread >/dev/null
	@cmake --build --preset thread --target thread_tests
	@ctest --test-dir build-thread --output-on-failure --no-tests=error -j 4 -L threads $(SPEED)

# The README's commands in a clean root directory, as root and as a plain user:
# docs/internals/testing-long.md.
fresh:
	@ci/fresh

# What takes too long for every change: docs/internals/testing-long.md.
nightly: tests-built
	@packaging/deps.sh bench matrix fresh
	@ci/nightly.sh

clean:
	rm -rf build build-debug build-sanitizers build-thread
