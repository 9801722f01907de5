#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves the promise for several clients: two online clients, each with arrivals of its own, run beside
# two trainings of one group, which are suspended and resumed together; and the time of the GPU is
# divided among what ran at once.
set -eu
# shellcheck source=tests/lib/whole_colocate.inc.sh
. "$SOURCE/tests/lib/whole_colocate.inc.sh"

online=$SOURCE/traces/online_resnet50_b1.csv training=$SOURCE/traces/offline_gpt2m_train_8x1024.csv
"$BUILD/kfdsim" --gpu mi210 --virtual -- "$kfdsched" colocate --online "$online" --online "$online" \
	--offline "$training" --group ranks --offline "$training" --group ranks \
	--load 0.3 --seconds 0.7 --seeds 1 --json "$report" --svg "$work/report.svg"
check "the run is valid" '.valid and .simulated'
check "each online client has arrivals of its own" '.arms.alone.clients.online | map(.requests) |
	length == 2 and all(.[]; . > 50) and .[0] != .[1]'
check "the requests are those of both" \
	'all(.arms[]; .online.requests == (.clients.online | map(.requests) | add))'
check "both trainings go on at the same speed" '.arms.trap.clients.offline | map(.of_alone) |
	all(.[]; . > 0.2) and (.[0] / .[1] | 0.9 < . and . < 1.1)'
check "it was done by suspending" '.arms.trap.suspends > 100'
check "a suspension takes two bounces" \
	'(.possible.suspend_us - 2 * (.costs.bounce_us + .costs.save_us)) | fabs < 1'
check "offline keeps at least 85 % of what is possible" '.possible.trap_of_possible >= 0.85'
check "the online P99 is at most 1.05 x the possible one" '.possible.trap_p99_of_possible <= 1.05'
check "the times of each arm are known and add up" 'all(.arms[].time_percent; length == 8
	and all(.[]; . != null and . >= 0) and (add - 100 | fabs < 1))'
check "alone only offline ran" '.arms.alone.time_percent | .offline_ran > 90 and .online < 0.01'
check "of what ran at once each had its part" '.arms.shared.time_percent | .offline_ran < 90 and .online > 10'
check "held, it ran for less time" '.arms.trap.time_percent.offline_ran < .arms.alone.time_percent.offline_ran'
[ "$(grep -c '<rect class="time[0-7]" .* height="24"' "$work/report.svg")" = 24 ] || fail "not each time is drawn"
schema colocate "$report"
