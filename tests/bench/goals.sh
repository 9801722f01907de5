#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# goals.sh: what of the GPU offline work keeps beside online requests, and their P99, for one case
# a line, beside what is possible for a scheduler that knows the future. In virtual worlds of a
# simulated MI210, with real processes. Exit code 1 if a goal is missed.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$source/build}
traces=$source/traces

usage="usage: goals.sh [--short] [--only PATTERN] [--list] [--seconds S] [--seeds N] [--bounce US,...]
                [--online TRACE --offline TRACE [--load L,...] [--arrivals KIND]] [--json FILE] [--svg FILE]"
help="
Plays each case by kfdsched colocate, arms alone and trap, and prints a line:

  ONLINE, LOAD, ARRIVALS, BESIDE, BOUNCE   the case
  P99      of the online requests: alone, under trap, and the possible one
  KEEPS    offline's share of its throughput alone: under trap, the possible one, and the ratio
  SUSP/S   suspensions a second
  GOAL     met, or MISSED and by what: offline keeps at least 85 % of what is possible, and the P99
           is at most 1.05 x the possible one. A server of steps of 15 ms with gaps of 1.5 ms has
           two goals of its own: its median step is at most 2 % longer than alone, and with
           online_weight = 1 offline keeps at least 60 % of what is possible

Without --online: resnet50 and llama decode at 5, 20, 50 and 80 % beside gpt2m training and beside
gemm4000, bounces of 50, 200 and 500 us; at 20 % in bursts, and at heavy-tailed distances (log-normal,
made here); at 20 % both together, beside gpt2m training and beside two of each offline trace, each
two in a group; and the server. Windows of 10 s and five seeds: some hours.

  --short           windows of 2 s, one seed, bounces of 200 us
  --only PATTERN    the cases whose name (--list) the extended regular expression matches
  --list            prints the names, and plays none
  --seconds S, --seeds N, --bounce US,...    other than 10, 5 and 50,200,500
  --online FILE --offline FILE   other traces (traces/README.md has the format)
  --load L,...      of them: 0.05,0.2,0.5,0.8, if not given
  --arrivals KIND   of them: poisson, fixed, bursty, file:PATH (docs/reference/kfdreplay.md)
  --json FILE       the cases, with all that colocate says of each
  --svg FILE        the ratios as a picture"

wrong() {
	echo "goals: $1; $usage" >&2
	exit 2
}

seconds=10 seeds=5 bounces=50,200,500 only=. list="" json="" svg=""
online="" offline="" loads=0.05,0.2,0.5,0.8 arrivals=poisson
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		echo "$usage"
		echo "$help"
		exit 0
		;;
	--short) seconds=2 seeds=1 bounces=200 ;;
	--list) list=1 ;;
	--only | --seconds | --seeds | --bounce | --online | --offline | --load | --arrivals | --json | --svg)
		[ $# -ge 2 ] || wrong "$1 needs a value"
		case $1 in
		--only) only=$2 ;;
		--seconds) seconds=$2 ;;
		--seeds) seeds=$2 ;;
		--bounce) bounces=$2 ;;
		--online) online=$2 ;;
		--offline) offline=$2 ;;
		--load) loads=$2 ;;
		--arrivals) arrivals=$2 ;;
		--json) json=$2 ;;
		--svg) svg=$2 ;;
		esac
		shift
		;;
	*) wrong "'$1' is no option" ;;
	esac
	shift
done
[ -n "$online$offline" ] || [ "$loads$arrivals" = 0.05,0.2,0.5,0.8poisson ] ||
	wrong "--load and --arrivals are for --online and --offline"
{ [ -n "$online" ] && [ -n "$offline" ]; } || [ -z "$online$offline" ] || wrong "--online and --offline go together"

work=$(mktemp -d)
child=""
trap '[ -z "$child" ] || kill "$child" 2>/dev/null || :; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Log-normal, sigma 1.5: most distances far below the mean, a few many times as long. The generator
# of random numbers is Park and Miller's, for the same distances with each awk.
heavy_tailed() {
	awk 'BEGIN {
		x = 7
		for (i = 0; i < 5000; i++) {
			x = x * 16807 % 2147483647; u = x / 2147483647
			x = x * 16807 % 2147483647; v = x / 2147483647
			printf "%.3f\n", 1000 * exp(1.5 * sqrt(-2 * log(u)) * cos(6.283185307179586 * v))
		}
	}'
}

# cases: one a line: NAME ONLINE PACE VALUE ARRIVALS OFFLINE BOUNCE GOAL, separated by tabs. Several
# clients are separated by |; a word @GROUP is of the client before it. Then the names of both kinds
# follow.
a_case() {
	local on=${8:-${1##*/}} off=${9:-${5##*/}} name pace=$3
	on=${on%.csv} on=${on#online_} off=${off%.csv} off=${off#offline_}
	[ "$2" = --rate ] || pace=$(awk -v load="$3" 'BEGIN { print 100 * load "%" }')
	name=$on/$pace/${4%%:*}/$off/${6}us
	[ "$7" = possible ] || name=$name/$7
	printf '%s\t' "$name" "${@:1:7}"
	echo
}
cases() {
	local on load off bounce
	for on in "${onlines[@]}"; do
		for load in ${loads//,/ }; do
			for off in "${offlines[@]}"; do
				for bounce in ${bounces//,/ }; do
					a_case "$on" --load "$load" "$arrivals" "$off" "$bounce" possible
				done
			done
		done
	done
	[ -z "$online" ] || return 0
	for kind in bursty "file:$work/heavy-tailed"; do
		for on in "${onlines[@]}"; do
			for bounce in ${bounces//,/ }; do
				a_case "$on" --load 0.2 "$kind" "${offlines[0]}" "$bounce" possible
			done
		done
	done
	local two="${onlines[0]}|${onlines[1]}" groups="${offlines[0]}|@a|${offlines[0]}|@a|${offlines[1]}|@b|${offlines[1]}|@b"
	for bounce in ${bounces//,/ }; do
		a_case "$two" --load 0.2 poisson "${offlines[0]}" "$bounce" possible resnet50+llama1b
		a_case "$two" --load 0.2 poisson "$groups" "$bounce" possible resnet50+llama1b 2gpt2m+2gemm4000
	done
	for goal in steps weight1; do
		a_case "$traces/online_server_15ms_synthetic.csv" --rate 60.606 fixed "${offlines[0]}" 200 "$goal"
	done
}
if [ -n "$online" ]; then
	onlines=("$online") offlines=("$offline")
else
	onlines=("$traces/online_resnet50_b1.csv" "$traces/online_llama1b_decode_b1.csv")
	offlines=("$traces/offline_gpt2m_train_8x1024.csv" "$traces/offline_gemm4000_f32.csv")
fi
heavy_tailed >"$work/heavy-tailed"
printf '[scheduler]\nonline_weight = 1\n' >"$work/weight1.ini"
cases | awk -F'\t' -v only="$only" '$1 ~ only' >"$work/cases"
count=$(wc -l <"$work/cases")
[ "$count" -gt 0 ] || wrong "no case matches '$only'"
if [ -n "$list" ]; then
	cut -f1 "$work/cases"
	exit 0
fi

# What a report says of a case; a figure that is not known is null.
judge='
	def at_most($x; $limit; $what): if $x == null or $x > $limit then $what else empty end;
	def at_least($x; $limit; $what): if $x == null or $x < $limit then $what else empty end;
	def over($a; $b): if $a == null or $b == null or $b == 0 then null else $a / $b end;
	.arms.alone as $alone | .arms.trap as $trap
	| over($trap.offline.steps; $alone.offline.steps) as $keeps
	| over($trap.online.p50_us; $alone.online.p50_us) as $steps
	| {case: $name, online: .online, offline: .offline, arrivals: .arrivals, load: .load, rate_per_s: .rate_per_s,
	   bounce_us: .costs.bounce_us, p99_us: {alone: $alone.online.p99_us, trap: $trap.online.p99_us,
	   possible: .possible.p99_us, ratio: .possible.trap_p99_of_possible},
	   keeps: {trap: $keeps, possible: .possible.of_alone, ratio: .possible.trap_of_possible},
	   p50_ratio: $steps, suspends_per_s: ($trap.suspends / .seconds / .seeds),
	   missed: [
		if .valid != true then "not valid: \(.invalid_reason)" else empty end,
		if ($trap.online.keeps_up | not) then "online does not keep up" else empty end,
		if $goal == "possible" then
			at_least(.possible.trap_of_possible; 0.85; "keeps"), at_most(.possible.trap_p99_of_possible; 1.05; "P99")
		elif $goal == "steps" then at_most($steps; 1.02; "steps")
		else at_least(.possible.trap_of_possible; 0.6; "keeps") end],
	   report: .}'
# A line of the table, its cells separated by tabs; what is not known is empty.
# shellcheck disable=SC2016 # the variables are of jq
row='(.case | split("/")) as $c
	| [$c[0], $c[1], $c[2], $c[3], $c[4], .p99_us.alone, .p99_us.trap, .p99_us.possible, .p99_us.ratio,
	   .keeps.trap, .keeps.possible, .keeps.ratio, .suspends_per_s,
	   if .missed == [] then "met" else "MISSED: " + (.missed | join(", ")) end] | @tsv'
print_row() {
	LC_ALL=C awk -F'\t' '
		function f(value, factor, digits) { return value == "" ? "-" : sprintf("%." digits "f", value * factor) }
		{ printf "%-22s %6s  %-9s %-20s %6s %9s %9s %9s %6s %7s %9s %6s %7s  %s\n", $1, $2, $3, $4, $5,
			f($6, 0.001, 2), f($7, 0.001, 2), f($8, 0.001, 2), f($9, 1, 2),
			f($10, 100, 1), f($11, 100, 1), f($12, 1, 2), f($13, 1, 0), $14 }'
}

live() {
	[ ! -t 2 ] || printf '\r\033[K%s' "$*" >&2
}

# clients KIND CLIENTS: leaves the options for them in $options.
clients() {
	local words word
	IFS='|' read -r -a words <<<"$2"
	for word in "${words[@]}"; do
		case $word in
		@*) options+=(--group "${word#@}") ;;
		*) options+=("--$1" "$word") ;;
		esac
	done
}

# play JSON LOG ONLINE PACE VALUE ARRIVALS OFFLINE BOUNCE GOAL
play() {
	local config=() options=()
	clients online "$3"
	clients offline "$7"
	[ "$9" != weight1 ] || config=(--config "$work/weight1.ini")
	"$build/kfdsim" --gpu mi210 --virtual --set "bounce_us=$8" -- "$build/kfdsched" colocate \
		"${options[@]}" "$4" "$5" --arrivals "$6" --arms alone,trap --seconds "$seconds" --seeds "$seeds" \
		"${config[@]}" --json "$1" >"$2" 2>&1 &
	child=$!
}

echo "SIMULATED GPU: mi210, virtual time; $seconds s a window, $seeds $([ "$seeds" = 1 ] && echo seed || echo seeds)"
echo "P99 in ms, and under trap by the possible one; what offline keeps in % of alone, and by what is possible"
printf '%-22s %6s  %-9s %-20s %6s %9s %9s %9s %6s %7s %9s %6s %7s  %s\n' \
	ONLINE LOAD ARRIVALS BESIDE BOUNCE "P99 ALONE" TRAP POSSIBLE RATIO KEEPS POSSIBLE RATIO SUSP/S GOAL
number=0
while IFS=$'\t' read -r name on pace value kind off bounce goal _; do
	number=$((number + 1)) begin=$SECONDS status=0
	play "$work/report" "$work/log" "$on" "$pace" "$value" "$kind" "$off" "$bounce" "$goal"
	while [ -t 2 ] && kill -0 "$child" 2>/dev/null; do
		live "case $number of $count, $name: $((SECONDS - begin)) s; $(tail -n 1 "$work/log" | cut -c1-60)"
		sleep 0.5
	done
	wait "$child" || status=$?
	child=""
	live ""
	# A run that is not valid ends with 1 and has a report.
	if [ "$status" -gt 1 ] || [ ! -s "$work/report" ]; then
		echo "goals: $name: colocate ended with $status:" >&2
		tail -n 5 "$work/log" >&2
		exit 1
	fi
	jq -c --arg name "$name" --arg goal "$goal" "$judge" "$work/report" >>"$work/judged"
	tail -n 1 "$work/judged" | jq -r "$row" | print_row
	rm "$work/report"
done <"$work/cases"

missed=$(jq -s 'map(select(.missed != [])) | length' "$work/judged")
echo "$((count - missed)) of $count goals met"
[ -z "$json" ] || jq -s '{seconds: '"$seconds"', seeds: '"$seeds"', cases: .}' "$work/judged" >"$json"
[ -z "$svg" ] || "$source/tests/bench/goals_svg.sh" <"$work/judged" >"$svg"
[ "$missed" = 0 ]
