#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves, with stand-ins: kfdsched colocate with two online clients and two offline clients of a
# group runs the right clients together in each arm, and prints the figures of each and of all.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
# shellcheck source=tests/lib/cli_colocate.inc.sh
. "$SOURCE/tests/lib/cli_colocate.inc.sh"
touch "$work/on2.csv" "$work/off2.csv"

expect 0 "$kfdsched" colocate --online "$work/on.csv" --online "$work/on2.csv" \
	--offline "$work/off.csv" --group night --offline "$work/off2.csv" --group night \
	--load 0.3 --seconds 0.4 --json "$work/report.json" --svg "$work/report.svg"
nothing_left
cat "$work/out"

logged() { grep -qF -- "$2" "$FAKE_DIR/$1.log" || fail "$1: $2 expected: $(cat "$FAKE_DIR/$1.log")"; }
for arm in alone shared trap; do
	logged "$arm-online1" "trace=$work/on.csv mode=open pace=--load 0.15 seed=1 arrivals=poisson seconds=0.4"
	logged "$arm-online2" "trace=$work/on2.csv mode=open pace=--load 0.15 seed=33 arrivals=poisson seconds=0.4"
	logged "$arm-offline1" "trace=$work/off.csv mode=closed"
	logged "$arm-offline2" "trace=$work/off2.csv mode=closed"
done
for client in online1 online2 offline1 offline2; do
	for arm in alone shared trap; do
		together=4
		[ "$arm" != alone ] || together=1
		[ "$arm-${client%?}" != alone-offline ] || together=2
		logged "$arm-$client" "together=$together"
	done
	logged "shared-$client" "priority=unset group=unset"
done
for n in 1 2; do
	logged "trap-online$n" "priority=online group=unset"
	logged "trap-offline$n" "priority=offline group=night"
	logged "shared-online$n" "keeps the times of requests"
done
said "arm alone, seed 1 of 1, 0.4 s 3 times"

printed "online on + on2, Poisson arrivals, load 30 % in total; offline off (night) + off2 (night), closed loop"
# Requests take 900 and 1900 us; of the steps of 900 and 2700 us 80 and 40 % are kept.
grep -q '^alone *900 us *1.90 ms *1.90 ms *1.90 ms *200 *21.00 *100 % *0$' "$work/out" || fail "row alone"
grep -q '^  on *900 us *1.50 ms *2.00 ms *3.00 ms *100 *$' "$work/out" || fail "row of the first online client"
grep -q '^trap *900 us *1.90 ms .* 200 *10.50 *50 % *30$' "$work/out" || fail "row trap"
grep -q '^  off (night) *8.40 *80 % *$' "$work/out" || fail "row of the first offline client"
grep -q '^  off2 (night) *4.20 *40 % *$' "$work/out" || fail "row of the second offline client"
grep -Eq '^shared( +-){4} +200 ' "$work/out" || fail "row shared"

schema colocate "$work/report.json"
# There is one request of 900 us and one of 1900 us every 9 ms, and each suspension and each resume
# takes two calls.
jq -e '(.possible | (.suspend_us - 80 | fabs < 3) and (.resume_us - 100 | fabs < 4) and .suspends == 44
		and (.p99_us - 2880 | fabs < 3))
	and (.arms.trap | .online.requests == 200 and (.clients.online | map(.trace) == ["on", "on2"])
		and (.clients.offline | map([.trace, .group]) == [["off", "night"], ["off2", "night"]]))' \
	"$work/report.json" >/dev/null || fail "the figures: $(jq -c '.possible, .arms.trap' "$work/report.json")"
xmllint --noout "$work/report.svg" || fail "the SVG is not well-formed"

# One offline client is in a group, and the other is not.
rm -f "$FAKE_DIR"/*
expect 0 "$kfdsched" colocate "${traces[@]}" --group one --offline "$work/off2.csv" --seconds 0.1 --arms trap
logged trap-online "priority=online group=unset"
logged trap-offline1 "group=one"
logged trap-offline2 "group=unset"
nothing_left

# There are too many clients, or a group without a client.
nine=()
for _ in $(seq 9); do nine+=(--online "$work/on.csv"); done
expect 2 "$kfdsched" colocate "${nine[@]}" --offline "$work/off.csv"
said "--online can be given 8 times, not 9"
expect 2 "$kfdsched" colocate --online "$work/on.csv" --group night --offline "$work/off.csv"
said "--group takes a name of 1 to 63 bytes, after the --offline to which it applies, not 'night'"
expect 2 "$kfdsched" colocate "${traces[@]}" --group "$(printf 'x%.0s' $(seq 64))"
said "--group takes"
expect 1 "$kfdsched" colocate "${traces[@]}" --offline "$work/none.csv" --seconds 1
said "cannot read the trace $work/none.csv"
