#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: times and sizes have one grammar: the shim accepts in the environment, and the daemon in its
# configuration, what the command's help and options accept, with fractions and with a blank.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
in_a_world

printf '[scheduler]\nslow_suspend_us = 10000000\nmin_run = 0.25 s\n[rule ruled]\nexecutable = /*ruled\nslo = 2.5ms\n' >"$work/patient.ini"
daemon_options+=(--record "$work/record")
start_daemon
cp "$BUILD/kfdreplay" "$work/ruled"
# start SLO_US PROGRAM [ENVIRONMENT...]: starts a workload; the daemon has this objective for it.
start() {
	local want=$1 program=$2
	shift 2
	env LD_PRELOAD="$BUILD/libkfdshim.so" KFDSHIM_PRIORITY=online "$@" "$program" \
		--trace "$SOURCE/traces/offline_gemm4000_f32.csv" --rate 5 --seconds 600 >/dev/null 2>>"$work/log" &
	children+=("$!")
	until_true 100 grep -qE " slo [0-9]+ ${want}000\$" "$work/record" ||
		fail "$*: not $want us: $(grep " slo " "$work/record")"
}
start 1500000 "$BUILD/kfdreplay" KFDSHIM_SLO=1.5s KFDSHIM_VRAM_LIMIT=1.5G KFDSHIM_LOG=error
start 500 "$BUILD/kfdreplay" KFDSHIM_SLO=".5 ms" KFDSHIM_LOG=error
start 2500 "$work/ruled"
! grep -q "is ignored" "$work/log" || fail "the shim ignores a value: $(grep 'is ignored' "$work/log")"
"$kfdsched" doctor --json >"$work/doctor.json" || true
! jq -e 'any(.findings[]; .found | test("KFDSHIM_(SLO|VRAM_LIMIT)=.* is (ignored|not)"))' "$work/doctor.json" >/dev/null ||
	fail "doctor calls one wrong: $(jq -c .findings "$work/doctor.json")"
env KFDSHIM_SLO=1.5s "$kfdsched" doctor --json >"$work/doctor.json" || true
! grep -q "KFDSHIM_SLO" "$work/doctor.json" || fail "doctor calls 1.5s wrong: $(grep KFDSHIM_SLO "$work/doctor.json")"
