#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: the command of kfdsched run gets exactly the requested environment, and its exit code is
# passed on; 127 and 126 have the same meaning as in a shell.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
mkdir "$work/bin" "$work/lib"
cp "$kfdsched" "$work/bin"
cp "$FAKES/libcli_fake_shim.so" "$work/bin/libkfdshim.so"
kfdsched=$work/bin/kfdsched

lacks() { ! grep -q "^$1=" "$work/out" || fail "the environment has $1"; }

expect 0 "$kfdsched" run --priority online --group g1 --slo 1.5s -- /usr/bin/env
printed_line "LD_PRELOAD=$work/bin/libkfdshim.so"
printed_line "KFDSHIM_PRIORITY=online"
printed_line "KFDSHIM_GROUP=g1"
printed_line "KFDSHIM_SLO=1500000us"
[ ! -s "$work/err" ] || fail "run prints something on stderr"

for priority in offline 0 15; do
	expect 0 "$kfdsched" run --priority "$priority" env
	printed_line "KFDSHIM_PRIORITY=$priority"
	lacks KFDSHIM_GROUP
	lacks KFDSHIM_SLO
done
# The value is in whole microseconds, which the shim reads.
for slo in 20ms=20000us 500us=500us 2s=2000000us 0.5ms=500us 1us=1us; do
	expect 0 "$kfdsched" run --priority 1 --slo "${slo%=*}" -- env
	printed_line "KFDSHIM_SLO=${slo#*=}"
done
for slo in 0.4us 5000s soon; do
	refused 2 "--slo takes a time" "$kfdsched" run --priority 1 --slo "$slo" -- env
done

# The shim comes before other preloads, and replaces an older copy of itself.
other=$FAKES/libcli_fake_shim.so
expect 0 env LD_PRELOAD="$other" "$kfdsched" run --priority 1 -- env
printed_line "LD_PRELOAD=$work/bin/libkfdshim.so:$other"
mkdir "$work/old"
cp "$other" "$work/old/libkfdshim.so"
expect 0 env LD_PRELOAD="$work/old/libkfdshim.so $other" "$kfdsched" run --priority 1 -- env
printed_line "LD_PRELOAD=$work/bin/libkfdshim.so:$other"

# Options after the command belong to the command.
expect 0 "$kfdsched" run --priority 1 echo --help --group x
printed "--help --group x"
expect 7 "$kfdsched" run --priority 1 -- sh -c 'exit 7'
refused 127 "No such file" "$kfdsched" run --priority 1 -- "$work/nosuch"
touch "$work/plain"
refused 126 "" "$kfdsched" run --priority 1 -- "$work/plain"

# An installed kfdsched finds its libraries in ../lib.
mv "$work/bin/libkfdshim.so" "$work/lib"
expect 0 "$kfdsched" run --priority 1 -- env
printed_line "LD_PRELOAD=$work/lib/libkfdshim.so"
rm "$work/lib/libkfdshim.so"
refused 1 "libkfdshim.so is neither" "$kfdsched" run --priority 1 -- env

# LD_PRELOAD has no way to quote a blank.
mkdir "$work/a b"
cp "$kfdsched" "$work/a b"
cp "$other" "$work/a b/libkfdshim.so"
refused 1 "LD_PRELOAD cannot contain" "$work/a b/kfdsched" run --priority 1 -- env
