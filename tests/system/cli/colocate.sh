#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves, with stand-ins for the daemon and the clients: kfdsched colocate starts each client in
# each arm as documented, and prints the figures as table, JSON (every key) and SVG. There is no
# simulated GPU here, so the values that only kfdsim knows have to be null.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
# shellcheck source=tests/lib/cli_colocate.inc.sh
. "$SOURCE/tests/lib/cli_colocate.inc.sh"

unset XDG_RUNTIME_DIR
export FAKE_COPY=$work/config KFDSHIM_GROUP=stray KFDSHIM_PRIORITY=7 KFDSHIM_SLO=1ms KFDSHIM_LEVEL=gate
export KFDSHIM_VRAM_LIMIT=1G KFDSHIM_GATE=3 KFDSHIM_UPDATE_QUEUE=may-reset-the-gpu
other=$FAKES/libcli_fake_shim.so
expect 0 env LD_PRELOAD="$work/bin/libkfdshim.so:$other" \
	"$kfdsched" colocate "${traces[@]}" --seconds 1 --load 0.3 \
	--json "$work/report.json" --svg "$work/report.svg"
nothing_left

logged() { grep -qF -- "$2" "$FAKE_DIR/$1.log" || fail "$1: $2 expected: $(cat "$FAKE_DIR/$1.log")"; }
for arm in alone shared trap; do
	logged "$arm-online" "trace=$work/on.csv mode=open pace=--load 0.3 seed=1 arrivals=poisson seconds=1"
	logged "$arm-offline" "trace=$work/off.csv mode=closed pace=- seed=- arrivals=- seconds=1"
done
for name in alone-online alone-offline shared-online shared-offline trap-online trap-offline; do
	grep -qx "others=" "$FAKE_DIR/$name.log" || fail "$name: $(cat "$FAKE_DIR/$name.log")"
done
for name in alone-online alone-offline shared-online shared-offline; do
	logged "$name" "preload=$other"
	logged "$name" "priority=unset group=unset socket=unset"
done
for role in online offline; do
	logged "trap-$role" "preload=$work/bin/libkfdshim.so:$other"
	logged "trap-$role" "priority=$role group=unset socket=$TMPDIR/kfdsched-"
done
grep -qx 'slow_suspend_us = 50000' "$work/config" || fail "the daemon's configuration"
grep -qx '\[scheduler\]' "$work/config" || fail "the daemon's configuration"
for arm in alone shared trap; do said "arm $arm, seed 1 of 1, 1 s"; done

grep -q "keeps the times" "$FAKE_DIR/alone-online.log" || fail "no times of requests alone"
[ "$(grep -l "keeps the times" "$FAKE_DIR"/*.log | wc -l)" = 1 ] || fail "times of requests in another arm"

jq -e '(keys == ["arms", "arrivals", "costs", "doorbell_delay_us", "invalid_reason", "load", "offline", "online",
		 "possible", "profile", "rate_per_s", "seconds", "seeds", "simulated", "time_scale", "valid", "virtual"])
	and .simulated == false and .virtual == false and .seeds == 1 and .profile == null and .time_scale == 1 and .costs == null
	and .doorbell_delay_us == null and .valid and .invalid_reason == null
	and .arrivals == "poisson" and (.possible | keys == ["of_alone", "p50_us", "p99_us", "resume_us", "suspend_us",
		"suspends", "trap_of_possible", "trap_p99_of_possible"])
	and .online == "on" and .offline == "off" and .load == 0.3 and .rate_per_s == null
	and .seconds == 1 and (.arms | keys == ["alone", "shared", "trap"])
	and all(.arms[]; (keys == ["clients", "delays_us", "floor_us", "level", "offline", "online", "resumes", "spread", "suspends", "time_percent"])
		and (.online | keys == ["gpu_busy_ratio", "keeps_up", "p50_us", "p90_us", "p999_us",
					"p99_us", "requests"])
		and (.offline | keys == ["gpu_busy_ratio", "steps"])
		and .clients.online == [.online + {trace: "on"}]
		and .clients.offline == [.offline + {trace: "off", group: null, of_alone: .clients.offline[0].of_alone}]
		and (.delays_us | keys == ["resume", "suspend"])
		and (.time_percent | keys == ["bounces", "detection", "hold_over", "idle_held", "offline_ran",
					      "online", "own_gaps", "save_restore"])
		and (.spread | keys == ["of_alone", "p50_us", "p90_us", "p999_us", "p99_us", "steps"])
		and all(.time_percent | del(.hold_over)[]; . == null)
		and .online.requests == 100)' "$work/report.json" >/dev/null ||
	fail "the JSON is not as docs/reference/colocate.md has it: $(jq -c . "$work/report.json")"
jq -e '.arms | .alone.suspends == 0 and .shared.suspends == 0 and .shared.delays_us.suspend == 0
	and .trap.level == "trap" and .shared.level == null and .trap.floor_us == null
	and .trap.suspends == 30 and .trap.resumes == 27 and .trap.delays_us.suspend == 60
	and .trap.delays_us.resume == 90 and .shared.time_percent.hold_over == 0
	and (.trap.time_percent.hold_over | 0.1 < . and . < 50) and .alone.online.keeps_up and (.shared.online.keeps_up | not)
	and .trap.online.p99_us == 2600 and .trap.offline.steps == 8.4' "$work/report.json" >/dev/null ||
	fail "the figures: $(jq -c .arms "$work/report.json")"

schema colocate "$work/report.json"
# 8.95 ms before the first request, 99 gaps of 8.01 ms, 99.01 ms to the end of the second.
jq -e '.possible | (.suspend_us - 40 | fabs < 1.3) and (.resume_us - 50 | fabs < 1.7) and .suspends == 100
	and (.of_alone - 0.90095 | fabs < 0.0003) and (.p99_us - 940 | fabs < 1.3)
	and (.trap_of_possible - 0.8 / 0.90095 | fabs < 0.001)' "$work/report.json" >/dev/null ||
	fail "what is possible: $(jq -c .possible "$work/report.json")"
printed "possible with known arrivals: offline keeps 90.1 %, online P99 94"
printed "; trap keeps 80.0 % (89 % of that), P99 2.60 ms (2.76 x)"

printed "hardware: "
! grep -q seeds "$work/out" || fail "a spread of one seed"
grep -q '^alone *900 us *1.50 ms *2.00 ms *3.00 ms *100 *10.50 *100 % *0$' \
	"$work/out" || fail "row alone"
grep -Eq '^shared( +-){4} +100 ' "$work/out" || fail "row shared"
grep -q '^trap *900 us .* 8.40 *80 % *30$' "$work/out" || fail "row trap"
grep -q '^trap *- *- *- *- *- *[01]\.[0-9] % *- *-$' "$work/out" || fail "the times of trap"
xmllint --noout "$work/report.svg" || fail "the SVG is not well-formed"

# Several seeds: each has other arrivals; the results are medians, means and totals, with a spread.
rm "$FAKE_DIR"/*
FAKE_SPREAD=1 expect 0 "$kfdsched" colocate "${traces[@]}" --seconds 0.3 --seeds 3 --arms alone,trap \
	--json "$work/seeds.json"
for seed in 1 2 3; do
	logged trap-online "seed=$seed "
	said "arm trap, seed $seed of 3"
done
[ "$(grep -c trace= "$FAKE_DIR/alone-offline.log")" = 1 ] || fail "offline alone ran more than once"
jq -e '.seeds == 3 and (.arms.trap | .online.requests == 300 and .suspends == 90
	and .online.p99_us == 2800 and .spread.p99_us == [2700, 2900] and .offline.steps == 8.4)' \
	"$work/seeds.json" >/dev/null || fail "three seeds: $(jq -c .arms.trap "$work/seeds.json")"
grep -q '^  3 seeds .* 2.70-2.90 ms' "$work/out" || fail "the row of the spread: $(cat "$work/out")"

# The arrivals are of another kind, and the daemon has a configuration.
printf '[scheduler]\npolicy = observe\n' >"$work/own.ini"
printf '100\n' >"$work/gaps"
rm "$FAKE_DIR"/*
expect 0 "$kfdsched" colocate "${traces[@]}" --seconds 0.3 --arms trap --config "$work/own.ini" \
	--arrivals "file:$work/gaps" --json "$work/r.json"
logged trap-online "arrivals=file:$work/gaps"
cmp "$work/own.ini" "$work/config" || fail "the daemon had another configuration"
jq -e '.possible == null and .arrivals == "file:'"$work/gaps"'"' "$work/r.json" >/dev/null || fail "JSON: $(jq -c . "$work/r.json")"
printed "online on, recorded arrivals, load 20 %"
schema colocate "$work/r.json"
! grep -q possible "$work/out" || fail "without arm alone nothing is possible"

# Only the requested arm runs; without arm alone nothing is compared.
rm "$FAKE_DIR"/*
expect 0 "$kfdsched" colocate "${traces[@]}" --seconds 1 --rate 50 --arms shared --json "$work/r.json"
for name in alone-online trap-online; do
	[ ! -e "$FAKE_DIR/$name.log" ] || fail "$name ran"
done
logged shared-online "pace=--rate 50"
jq -e '(.arms | keys == ["shared"]) and .load == null and .rate_per_s == 50' "$work/r.json" >/dev/null ||
	fail "one arm: $(cat "$work/r.json")"
nothing_left

# If kfdsched wakes late, it finds clients that have ended in time, which is no failure.
rm "$FAKE_DIR"/*
"$kfdsched" colocate "${traces[@]}" --seconds 2 --arms shared >"$work/out" 2>"$work/err" &
run=$!
for _ in $(seq 200); do
	[ "$(wc -l 2>/dev/null <"$FAKE_DIR/begun" || echo 0)" -lt 2 ] || break
	sleep 0.05
done
kill -STOP "$run" || true
for _ in $(seq 200); do
	[ -n "$(companions)" ] || break
	sleep 0.05
done
kill -CONT "$run" || true
wait "$run" || fail "colocate ended with $?"
grep -q '^shared ' "$work/out" || fail "no row"
nothing_left

# A run is not valid: its report is written, and the exit code is 1.
rm "$FAKE_DIR"/*
FAKE_OVERLOAD=1 expect 1 "$kfdsched" colocate "${traces[@]}" --seconds 0.5 --arms alone,trap --json "$work/r.json"
said "the run is not valid: online does not keep up even in arm alone"
jq -e '.valid == false' "$work/r.json" >/dev/null || fail "a report of a valid run"
nothing_left

# Levels: only the offline clients get the level of the arm, and without a daemon the clients find
# each other in a directory of the arm. The fake clients make no files there.
rm "$FAKE_DIR"/*
FAKE_LEVEL=gate expect 0 "$kfdsched" colocate "${traces[@]}" --seconds 0.5 --arms gate,peers --json "$work/r.json"
said "the clients cannot be scheduled: online has no file in the directory of the arm"
for arm in gate peers; do
	logged "$arm-offline" "preload=$work/bin/libkfdshim.so"
	logged "$arm-online" "priority=online group=unset socket=$TMPDIR/kfdsched-"
done
logged gate-offline "level=gate runtime=unset"
logged gate-online "level=unset runtime=unset"
logged peers-offline "level=self runtime=$TMPDIR/kfdsched-"
logged peers-online "level=unset runtime=$TMPDIR/kfdsched-"
jq -e '.arms | .gate.level == "gate" and .gate.suspends == 30 and .gate.time_percent.hold_over == null
	and .peers.level == null and .peers.suspends == null and .peers.delays_us.resume == null' \
	"$work/r.json" >/dev/null || fail "the figures: $(jq -c .arms "$work/r.json")"
schema colocate "$work/r.json"
grep -q '^peers .* -$' "$work/out" || fail "the row of peers: $(cat "$work/out")"
nothing_left
rm "$FAKE_DIR"/*
FAKE_PEERS=1 expect 0 "$kfdsched" colocate "${traces[@]}" --seconds 0.3 --arms peers
! grep -q "cannot be scheduled" "$work/err" || fail "the files of peers were not found: $(cat "$work/err")"
nothing_left

# If the level is not that of the arm, or the shim is disabled, the run goes on with a warning.
rm "$FAKE_DIR"/*
FAKE_LEVEL=observe expect 0 "$kfdsched" colocate "${traces[@]}" --seconds 0.5 --arms trap
said "level observe: the fake says so"
rm "$FAKE_DIR"/*
KFDSHIM_DISABLE=1 FAKE_LEVEL=observe expect 0 "$kfdsched" colocate "${traces[@]}" --seconds 0.5 --arms trap
said "KFDSHIM_DISABLE=1"
nothing_left
