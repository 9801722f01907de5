#!/bin/sh
# SPDX-License-Identifier: MIT
# Format, licence lines, static analysis: what a reviewer should not have to look for.
set -eu
cd "$(dirname "$0")/.."
status=0

sources=$(git ls-files '*.c' '*.h')
# shellcheck disable=SC2086 # lists of words
clang-format-14 --dry-run --Werror $sources || status=1
for file in $(git ls-files '*.c' '*.h' '*.sh' '*.py' '*.cl' '*.ini' 'Makefile' '*CMakeLists.txt'); do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' ||
		{ echo "lint: $file has no SPDX line" >&2; status=1; }
done
for file in $(git ls-files -s | awk '$1 == "100644" {print $4}'); do
	head -c 2 "$file" | grep -q '^#!' && { echo "lint: $file has a #! line and is not executable" >&2; status=1; }
done
# The one place where our programs read a clock: of tests/ the benchmarks are meant, too.
# shellcheck disable=SC2046
if grep -nE '\<(clock_gettime|gettimeofday|timespec_get) ?\(|\<time\(NULL\)' $(git ls-files '*.c' '*.h' |
	grep -Ev '^(common/clock\.[ch]|sim/host/time/.*|tests/[^b].*)$'); then
	echo "lint: common/clock.h reads clocks" >&2
	status=1
fi
# The one place where they wait. Exceptions: sim/host/time is these functions, of a virtual world;
# sim/host/virtual.c waits by the machine's clock while clock_ns() is the world's; bench times the
# calls themselves; an example has public headers only. kfdsched's help has jq's select().
# shellcheck disable=SC2046
if grep -nE '\<(nanosleep|clock_nanosleep|usleep|sleep|thrd_sleep|poll|ppoll|select|pselect)\((\)|[^2])' $(git ls-files '*.c' '*.h' |
	grep -Ev '^(common/(wait\.c|stderr\.h)|sim/host/time/.*|sim/host/virtual\.c|examples/.*|tests/.*)$') |
	grep -vE '^[^:]*:[0-9]+:[[:space:]]*(/?\*|//)|\| jq '; then
	echo "lint: common/wait.h waits" >&2
	status=1
fi
ci/check_layers.py || status=1
# shellcheck disable=SC2046
shellcheck $(git ls-files '*.sh' .ci/run ci/ | grep -v '\.py$') || status=1
# shellcheck disable=SC2046
# Given macros with arguments by -D, version 2.10 cannot expand a macro with two arguments or more
# within another one: do not nest them.
cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
	--suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
	--error-exitcode=1 -D_GNU_SOURCE '-Djson_object_foreach(o,k,v)=for(;;)' '-Djson_array_foreach(a,i,v)=for(;;)' -I. -j 2 \
	$(git ls-files '*.c' | grep -v '^tests/[^b]') || status=1
exit $status
