#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves what all commands have in common: --version prints release, commit and protocol in every
# binary; EXIT STATUS in the manual is that of the command; --interval takes seconds or a time, -n a
# count; --json prints JSON to stdout everywhere, also where it can name a file; `status PID` shows
# that process alone. The installation has kfdschedd(8), the schemas and docs/reference, with every
# page of it that a help text names.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"

if [ -z "${IN_A_WORLD:-}" ]; then
	protocol=$(sed -n 's/^#define PROTOCOL_VERSION \([0-9]*\).*/\1/p' "$SOURCE/channel/protocol.h")
	for program in "$BUILD/kfdsched" "$BUILD/kfdschedd" "$BUILD/kfdsim" "$BUILD/kfdreplay" "$BUILD/kfdconform" \
		"$BUILD/record_play"; do
		expect 0 "$program" --version
		grep -qE "^${program##*/} [0-9]+\.[0-9]+\.[0-9]+, commit ([0-9a-f]{12}(-dirty)?|unknown), protocol $protocol\$" "$work/out" ||
			fail "$program --version: $(cat "$work/out")"
	done
	cut -d , -f 2- "$work/out" >"$work/one"
	for program in kfdsched kfdschedd kfdsim; do
		"$BUILD/$program" --version | cut -d , -f 2- | cmp -s - "$work/one" || fail "$program is of another commit"
	done
	# If --json can name a file, the file is optional: [--json [FILE]].
	for verb in $("$BUILD/kfdsched" --help | awk '/^  [a-z]/ {print $1}'); do
		"$BUILD/kfdsched" "$verb" --help >"$work/out"
		! head -n 1 "$work/out" | grep -E -- '--json' | grep -qvE -- '--json( \[FILE\])?\]' ||
			fail "--json of $verb has another meaning: $(head -n 1 "$work/out")"
	done
	exits() {
		mandoc -T ascii "$BUILD/pages/kfdsched-$1.1" | col -b | sed '1,/^EXIT STATUS/d; /^SEE ALSO/,$d' | grep -qF "$2" ||
			fail "EXIT STATUS of $1 lacks '$2'"
	}
	exits verify "1 they differ"
	exits run "127 if it is not found"
	exits trace "that of COMMAND"
	exits record "that of COMMAND"
	exits queues "0 success, 1 failure"
	cmake --install "$BUILD" --prefix "$work/installed" >/dev/null
	find "$work/installed" -type f >"$work/files"
	# These pages are named in help texts and messages of installed programs.
	named=$(grep -aohE "docs/[a-z0-9/-]+\.md" "$BUILD"/{kfdsched,kfdschedd,kfdreplay,libkfdshim-agent.so} | sort -u)
	[ "$(wc -w <<<"$named")" -gt 8 ] || fail "only these pages are named: $named"
	for file in man/man8/kfdschedd.8 schemas/status.json schemas/preempt.json \
		docs/reference/README.md $named; do
		grep -q "/$file\$" "$work/files" || fail "$file is not installed: $(cat "$work/files")"
	done
	mandoc -T lint -W error "$BUILD/pages/kfdschedd.8" || fail "kfdschedd(8) is no manual page"
	"$BUILD/kfdschedd" --help | grep -oE -- '--[a-z]+' | sort -u >"$work/options"
	while read -r option; do
		mandoc -T ascii "$BUILD/pages/kfdschedd.8" | col -b | grep -qF -- "$option" || fail "kfdschedd(8) lacks $option"
	done <"$work/options"
fi
in_a_world

start_daemon
offline_trace=$SOURCE/traces/offline_gemm4000_f32.csv
start_offline --seconds 600
first=$offline
start_offline --seconds 600
expect 0 "$kfdsched" status "$offline" --json
schema status "$work/out"
holds "$work/out" ".processes | length == 1 and .[0].pid == $offline"
expect 0 "$kfdsched" status "$offline"
! grep -q "^ *$first " "$work/out" || fail "process $first is in the status of process $offline"
refused 1 "process $$ is not registered with the daemon" "$kfdsched" status $$
expect 0 "$kfdsched" top --once --interval 0.05
expect 0 "$kfdsched" events --follow -n 1 --last 1
kill -KILL "$first" "$offline" "$daemon"
expect 0 "$kfdsched" colocate --online "$SOURCE/traces/online_resnet50_b1.csv" --offline "$offline_trace" \
	--arms alone --json --seconds 0.5
holds "$work/out" '.arms.alone.online.p50_us > 0'
expect 0 "$kfdsched" colocate --online "$SOURCE/traces/online_resnet50_b1.csv" --offline "$offline_trace" \
	--arms alone --seconds 0.5 --json -
holds "$work/out" '.arms.alone.online.p50_us > 0'
expect 0 "$BUILD/kfdreplay" --trace "$offline_trace" --requests 1 --json
holds "$work/out" '.requests == 1'
expect 0 "$BUILD/kfdreplay" --trace "$offline_trace" --json "$work/replay.json" --requests 1
holds "$work/replay.json" '.requests == 1'
