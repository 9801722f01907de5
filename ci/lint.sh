#!/bin/sh
# SPDX-License-Identifier: MIT
# lint.sh [--changed]: format, licence lines, static analysis: what a reviewer should not have to
# look for. --changed: only of files that differ from the upstream branch (without one: from the
# last commit), which takes seconds; a rule about the whole tree, such as the directions of
# includes, is checked in any case. Exit status 0: nothing found, 1: something was found.
set -eu
cd "$(dirname "$0")/.."
status=0

case ${1:-} in
--changed)
	base=$(git merge-base HEAD '@{upstream}' 2>/dev/null || git rev-parse HEAD)
	all=$({ git diff --name-only --diff-filter=d "$base"; git ls-files --others --exclude-standard; } | sort -u)
	;;
"") all=$(git ls-files) ;;
*)
	echo "usage: lint.sh [--changed]" >&2
	exit 2
	;;
esac

# files REGEX: those of the files whose path matches.
files() {
	printf '%s\n' "$all" | grep -E "$1" || true
}

files '\.[ch]$' | xargs -r clang-format-14 --dry-run --Werror || status=1
for file in $(files '(\.(c|h|sh|py|cl|ini)|Makefile|CMakeLists\.txt)$'); do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' ||
		{ echo "lint: $file has no SPDX line" >&2; status=1; }
done
for file in $all; do
	[ ! -f "$file" ] || [ -x "$file" ] || [ "$(head -c 2 "$file" | tr -d '\0')" != '#!' ] ||
		{ echo "lint: $file has a #! line and is not executable" >&2; status=1; }
done
# none WHY: fails if standard input has a line, and prints it.
none() {
	! grep . || { echo "lint: $1" >&2; return 1; }
}
# The one place where our programs read a clock: of tests/ the benchmarks are meant, too.
files '\.[ch]$' | { grep -Ev '^(common/clock\.[ch]|sim/host/time/.*|tests/[^b].*)$' || true; } |
	xargs -r grep -nE '\<(clock_gettime|gettimeofday|timespec_get) ?\(|\<time\(NULL\)' /dev/null |
	none "common/clock.h reads clocks" || status=1
# The one place where they wait. Exceptions: sim/host/time is these functions, of a virtual world;
# sim/host/virtual.c waits by the machine's clock while clock_ns() is the world's; bench times the
# calls themselves; an example has public headers only. kfdsched's help has jq's select().
files '\.[ch]$' | { grep -Ev '^(common/(wait\.c|stderr\.h)|sim/host/time/.*|sim/host/virtual\.c|examples/.*|tests/.*)$' || true; } |
	xargs -r grep -nE '\<(nanosleep|clock_nanosleep|usleep|sleep|thrd_sleep|poll|ppoll|select|pselect)\((\)|[^2])' /dev/null |
	{ grep -vE '^[^:]*:[0-9]+:[[:space:]]*(/?\*|//)|\| jq ' || true; } |
	none "common/wait.h waits" || status=1
# The one place where kfdsched starts processes.
files '^cli/.*\.[ch]$' |
	xargs -r grep -nE '\<(v?fork|clone|posix_spawnp?|popen|system) ?\(' /dev/null |
	{ grep -vE '^[^:]*:[0-9]+:[[:space:]]*(/?\*|//)' || true; } |
	none "common/child.h starts processes" || status=1
ci/check_layers.py || status=1
# Two at a time, because each script is checked together with the files that it reads.
files '(\.sh|^\.ci/run|^ci/[^.]*)$' | xargs -r -P 2 -n 40 shellcheck || status=1
# The address of a signal's value is that of a run of cells in packets.c.
files '\.c$' | { grep -v '^tests/[^b]' || true; } | xargs -r cppcheck --quiet --std=c11 \
	--enable=warning,performance,portability --inline-suppr \
	--suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
	--suppress=objectIndex:tools/kfdconform/checks/packets.c \
	--error-exitcode=1 -D_GNU_SOURCE --include=tests/lib/cppcheck.h -I. -j 2 || status=1
exit $status
