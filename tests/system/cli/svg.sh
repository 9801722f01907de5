#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: the picture is well-formed and self-contained, has no script and has the expected texts
# and bars, in every kind of run (svg_samples.c).
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
"$BUILD/cli_svg_samples" "$work"
count=0
for file in "$work"/*.svg; do
	count=$((count + 1))
	xmllint --noout "$file" || fail "$file is not well-formed"
	! grep -qiE '<script|href|url\(|@import' "$file" || fail "$file is not self-contained"
	grep -q 'prefers-color-scheme:dark' "$file" || fail "$file has no dark colours"
	! grep -qE '="(-?nan|-?inf)' "$file" || fail "$file has an invalid coordinate"
	# The text without tags.
	sed -e '/<style>/,/<\/style>/d' -e 's/<[^>]*>//g' "$file" >"${file%.svg}.txt"
done
[ "$count" = 9 ] || fail "expected nine samples, not $count"

has_text() { grep -qxF -- "$2" "$work/$1.txt" || fail "$1 does not say '$2': $(cat "$work/$1.txt")"; }
lacks() { ! grep -qF -- "$2" "$work/$1.txt" || fail "$1 says '$2'"; }

has_text usual "online_resnet50_b1 beside offline_gpt2m_train_8x1024"
has_text usual "Online latency, P50 to P99 (model time, log scale)"
has_text usual "Offline throughput, share of alone"
has_text usual "does not keep up"
has_text usual "P99 2.48 ms"
has_text usual "P50 1.02 ms"
has_text usual "floor: alone P99 + 2 bounces + save = 2.94 ms"
has_text usual "76 %"
has_text usual "possible: 75 %"
lacks one_arm "possible"
has_text usual "simulated GPU: mi210, time scale 0.1, bounce 200 us, median save 60.4 us, restore 50.2 us (assumed)"
lacks usual "INVALID RUN"
has_text usual "Use of the GPU's time while offline clients ran"
has_text usual "idle, offline held"
for percent in 55 22 6; do
	has_text usual "$percent %"
done
[ "$(grep -c '<rect class="time[0-7]" .* height="24"' "$work/usual.svg")" = 24 ] || fail "not each time is drawn"
# The parts of a bar are together as long as the whole.
awk -F'"' '/<rect class="time[0-7]".* height="24"/ {sum[$6] += $8}
	END {for (y in sum) {n++; if (sum[y] < 651.5 || sum[y] > 652.5) exit 1} exit n != 3}' "$work/usual.svg" ||
	fail "bars of another length"
lacks usual "not distinguishable"
# Each arm has a row; the shares that are not known are drawn as one.
has_text levels "not distinguishable"
for arm in self gate peers; do
	[ "$(grep -c "class=\"$arm\"" "$work/levels.svg")" = 2 ] || fail "bars of $arm"
done
[ "$(grep -c '<rect class="time8" .* height="24"' "$work/levels.svg")" = 2 ] || fail "unknown shares"
! grep -q 'nan' "$work/levels.svg" || fail "a picture with an unknown number"
# The floor of the arms that preempt, the floor of gate, and the possible optimum.
[ "$(grep -c 'class="floor"' "$work/levels.svg")" = 3 ] || fail "the floors"
lacks hardware "Use of the GPU's time"
has_text seeds "online: Poisson arrivals, load 20 %; offline: closed loop; 40 s a window; thin lines: lowest to highest seed"
# There are offline steps of three arms, and latencies of the two that keep up; three lines each.
[ "$(grep -c 'class="spread"' "$work/seeds.svg")" = 15 ] || fail "not each spread is drawn"
! grep -q 'class="spread"' "$work/usual.svg" || fail "one seed has a spread"
has_text invalid "INVALID RUN: see the report for the reason"
has_text hardware "hardware: times are wall time; the cost of a bounce is not known"
lacks hardware "simulated"
lacks hardware "floor"
has_text one_arm "Offline steps in the window"
lacks one_arm "alone"
has_text several "2 online beside 4 offline clients"
has_text several "online: Poisson arrivals, load 20 % in total; offline: closed loop; 40 s (wall) a window"
has_text several "online_resnet50_b1 + online_llama1b_decode_b1 beside 2 x offline_gpt2m_train_8x1024 (a) + 2 x offline_gemm4000_f32 (b)"
has_text names "a &amp;&amp; b &lt;script&gt; beside c"
