# SPDX-License-Identifier: MIT
# A thin face: what to type. The building itself stands in CMakeLists.txt.
.PHONY: all demo test bench matrix lint sanitizers nightly clean

all:
	@cmake --preset release >build.log 2>&1 || { cat build.log; rm -f build.log; exit 1; }; rm -f build.log
	@cmake --build --preset release

demo:
	@echo "demo: 1/3 packages"
	@packaging/deps.sh demo
	@echo "demo: 2/3 build"
	@$(MAKE) --no-print-directory all
	@echo "demo: 3/3 an online and an offline process on one software GPU (three and a half minutes, more on a busy machine)"
	@packaging/demo.sh

test:
	@packaging/deps.sh test
	@$(MAKE) --no-print-directory all
	@ctest --test-dir build --output-on-failure --no-tests=error

# Figures of this machine and of the simulated GPU, a table and a plot each.
bench:
	@packaging/deps.sh test
	@$(MAKE) --no-print-directory all
	@bench/run.sh

# Unmodified programs with each generation of the runtimes, and one table.
matrix:
	@packaging/deps.sh build matrix
	@$(MAKE) --no-print-directory all
	@packaging/matrix.sh

lint:
	@packaging/deps.sh test
	@packaging/lint.sh

# The unit and process tests once more, with our programs under ASan and UBSan.
sanitizers:
	@packaging/deps.sh test
	@cmake --preset sanitizers >/dev/null
	@cmake --build --preset sanitizers
	@ctest --test-dir build-sanitizers --output-on-failure --no-tests=error -L sanitizers

# What takes too long for every change: docs/testing.md.
nightly:
	@packaging/deps.sh test matrix
	@$(MAKE) --no-print-directory all
	@packaging/nightly.sh

clean:
	rm -rf build build-debug build-sanitizers build-thread
