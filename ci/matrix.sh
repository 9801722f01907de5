#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# matrix.sh [--only NAME[,NAME]...] [--build DIR] [--json] [--real-time]: runs unmodified
# programs with each generation of AMD's runtimes under kfdsim, alone and under the
# shim, and prints one table. NAME: bookworm (ROCr and HIP 5.2.3), trixie (ROCr
# 6.1.2), sid (ROCr and HIP 6.4.3), experimental (ROCr and HIP 7.2.4).
#
# The worlds are virtual (kfdsim --virtual), so that a busy machine changes no result;
# --real-time: they have this machine's clock.
#
# Each is the root folder of a Debian suite, made by roots.sh from this machine's
# own apt sources; bookworm is the system itself where it is one. stdout: the
# table, or with --json one object (docs/reference/test-results.md). Exit status 0: all passed,
# 1: not all, 2: wrong use, 77: the roots cannot be made here.
set -eu
cd "$(dirname "$0")/.."

build=build
only=bookworm,trixie,sid,experimental
json=no
export KFDSIM_VIRTUAL=1
limit=900 # seconds for one program, which only a hang takes; on a quiet machine none takes 60

say() {
	echo "matrix: $*" >&2
}
usage() {
	say "$1; usage: matrix.sh [--only bookworm,trixie,sid,experimental] [--build DIR] [--json] [--real-time]"
	exit 2
}
while [ $# -gt 0 ]; do
	case $1 in
	--only | --build)
		[ $# -gt 1 ] || usage "$1 needs a value"
		if [ "$1" = --only ]; then only=$2; else build=$2; fi
		shift 2
		;;
	--json)
		json=yes
		shift
		;;
	--real-time)
		KFDSIM_VIRTUAL=0
		shift
		;;
	*) usage "there is no option $1" ;;
	esac
done
for name in ${only//,/ }; do
	case $name in
	bookworm | trixie | sid | experimental) ;;
	*) usage "there is no suite '$name'" ;;
	esac
done
for program in kfdsim matrix_hsa matrix_hip matrix_queues random_queues_hsa test_shim_world test_shim_ways \
	shim_workload test_shim_paths shim_path shim_path_linked kfdreplay kfdschedd kfdsched lane_client watch_queue last_words; do
	[ -x "$build/$program" ] || {
		say "$build/$program is not there: build first (make)"
		exit 2
	}
done

# What the tests keep, too: a world with another root sees of this machine's files
# only the working folder and the one with kfdsim.
BUILD=$(cd "$build" && pwd)
SOURCE=$PWD
work=$(mktemp -d "$BUILD/m.XXXXXX")
trap 'rm -rf "$work"' EXIT
PROFILER=$(find "$BUILD" -name libfake_profiler.so)
WORK_LIBRARY=$(find "$BUILD" -name libshim_path_work.so)
THUNK_LIBRARY=$(find "$BUILD" -name libshim_path_thunk.so)
OTHER_PRELOAD=$(find "$BUILD" -name libother_preload.so)
DESTROYER=$(find "$BUILD" -name libdestroyer.so)
WITNESS_LIBRARY=$(find "$BUILD" -name libwitness.so)
LAST_WORDS=$BUILD/last_words
PATHS=$BUILD/test_shim_paths
WORKLOAD=$BUILD/shim_path
export BUILD SOURCE PROFILER WORK_LIBRARY THUNK_LIBRARY WITNESS_LIBRARY DESTROYER LAST_WORDS PATHS WORKLOAD
results=$work/results # suite, step, GPU, result, reason; by tabs
: >"$results"

note() {
	# A tab would end the field.
	printf '%s\t%s\t%s\t%s\t%s\n' "$suite" "$1" "$2" "$3" "$(printf %s "${4:-}" | tr '\t\n' '  ')" >>"$results"
}

# The newest of the packages that carry a thing, as 6.4.3 out of 6.4.3+dfsg-5.
version_of() {
	sed -n "s/^$1 \([0-9]*:\)\?\([0-9.]*\).*/\2/p" <<<"$packages" | sort -V | tail -n 1
}

# Makes the suite's root and finds its versions: $root, $packages, $rocr, $hip.
enter_suite() {
	suite=$1
	root=""
	# shellcheck source=/dev/null
	if [ "$suite" = bookworm ] && (. /etc/os-release && [ "${VERSION_CODENAME:-}" = bookworm ]); then
		packages=$(dpkg-query -W -f '${Package} ${Version}\n' libhsa-runtime64-1 libhsakmt1 'libamdhip64-*' 2>/dev/null || true)
	else
		root=$(packaging/roots.sh "$suite")
		packages=$(cat "$root/.packages")
	fi
	rocr=$(version_of 'libhsa-runtime64-1')
	hip=$(version_of 'libamdhip64-[0-9]*')
}

# in_world GPU GPUS COMMAND...: output to $work/out, its status to $status.
in_world() {
	local gpu=$1 gpus=$2
	shift 2
	status=0
	# Upstream's driver has no ioctls for sharing memory but dmabufs; ROCr from
	# 6.3 to 7.1 uses those with this setting.
	HSA_ENABLE_IPC_MODE_LEGACY=0 timeout "$limit" "$build/kfdsim" --gpu "$gpu" --gpus "$gpus" \
		${root:+--root "$root"} -- "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# Prints why a command without results of its own has failed.
why() {
	if [ "$status" = 124 ]; then
		echo "not done after $limit s"
	else
		echo "ended with $status: $(cat "$work/out" "$work/err" |
			awk 'NF { last = $0 } /FAILED/ { failed = $0 } END { print failed ? failed : last }' | cut -c 1-160)"
	fi
}

# rocminfo STEP GPU GPUS ISA: does it list so many agents of it?
rocminfo() {
	local found
	in_world "$2" "$3" rocminfo
	found=$(grep -c "^ *Name: *$4 *$" "$work/out" || true)
	if [ "$status" != 0 ]; then
		note "$1" "$2" fail "$(why)"
	elif [ "$found" != "$3" ]; then
		note "$1" "$2" fail "$found agents named $4 instead of $3"
	else
		note "$1" "$2" pass
	fi
}

# steps PREFIX GPU GPUS COMMAND...: a program that prints its steps (tests/matrix/step.h).
steps() {
	local prefix=$1 gpu=$2 gpus=$3 step result last=start count=0
	shift 3
	in_world "$gpu" "$gpus" "$@"
	while IFS=$'\t' read -r step result; do
		[ -n "$result" ] || continue # output of the runtime
		count=$((count + 1))
		case $result in
		pass) note "$prefix $step" "$gpu" pass ;;
		"not applicable: "*) note "$prefix $step" "$gpu" "not applicable" "${result#*: }" ;;
		*)
			note "$prefix $step" "$gpu" fail "$result"
			last=""
			;;
		esac
		[ -z "$last" ] || last=$step
	done <"$work/out"
	if [ "$status" != 0 ]; then
		[ -z "$last" ] || note "$prefix end" "$gpu" fail "after $last: $(why)"
	elif [ "$count" = 0 ]; then
		note "$prefix end" "$gpu" fail "printed no step"
	fi
}

# behaves NAME COMMAND...: a test of tests/, which makes a world of its own.
behaves() {
	local name=$1
	shift
	status=0
	root=$root TMPDIR=$work timeout "$limit" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	if [ "$status" = 0 ]; then note "$name" mi210 pass; else note "$name" mi210 fail "$(why)"; fi
}

# in_real NAME CASE WORKLOAD...: a case of tests/system/shim/test_world.c.
in_real() {
	local name=$1 case=$2
	shift 2
	behaves "$name" "$BUILD/kfdsim" ${root:+--root "$root"} -- "$BUILD/test_shim_world" "test_$case" "$@"
}

# in_ways NAME CASE [KFDSIM OPTIONS]: a case of tests/system/shim/ways.c.
in_ways() {
	local name=$1 case=$2
	shift 2
	behaves "$name" "$BUILD/kfdsim" "$@" ${root:+--root "$root"} -- "$BUILD/test_shim_ways" "test_$case" \
		"$BUILD/shim_workload"
}

# The shim's behaviours, by the tests that make test runs with this machine's runtime.
shim() {
	local case path level api apis=hsa ctypes=$SOURCE/tests/system/shim/ctypes_workload.py
	local private=/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1 # of the root; used as a copy
	[ -z "$hip" ] || apis="hsa hip"
	for case in queues hooks hints blocked forked again vram requests intercepted gated; do
		in_real "shim $case" "$case" "$BUILD/shim_workload"
	done
	HSA_ENABLE_INTERRUPT=0 in_real "shim gated, no interrupts" gated "$BUILD/shim_workload"
	PRELOAD_BEFORE=$OTHER_PRELOAD in_real "shim after another preload" beside_another "$BUILD/shim_workload"
	PRELOAD_AFTER=$OTHER_PRELOAD in_real "shim before another preload" beside_another "$BUILD/shim_workload"
	behaves "shim last words" bash tests/system/shim/exit_time_queues.sh
	for case in reserved rung copied worked gated in_gtt kinds weighed set_while_weighed set_while_stopped; do
		in_ways "shim ways, $case" "$case"
	done
	RPTR=consumption in_ways "shim ways, worked, consumed" worked --set rptr_at_consumption=1
	in_ways "shim ways, jumped" jumped --set unknown_kernel_us=40
	in_ways "shim ways, jumped, consumed" jumped --set unknown_kernel_us=40 --set rptr_at_consumption=1
	in_real "shim queues, by dlsym" queues python3 "$ctypes"
	in_real "shim queues, private ROCr" queues python3 "$ctypes" "$private"
	in_real "shim API table, named" tabled python3 "$ctypes"
	# ROCr 5 loads a tool only if HSA_TOOLS_LIB names it; otherwise the sampler detects the work.
	if [ "${rocr%%.*}" -lt 6 ]; then
		note "shim API table, found" mi210 "not applicable" "ROCr 5 loads no tool but by HSA_TOOLS_LIB"
		in_real "shim API table, private ROCr" tabled python3 "$ctypes" "$private"
		in_real "shim sampled" sampled python3 "$ctypes"
		in_real "shim sampled, private ROCr" sampled python3 "$ctypes" "$private"
	else
		in_real "shim API table, found" tabled_unasked python3 "$ctypes"
		in_real "shim API table, private ROCr" tabled_unasked python3 "$ctypes" "$private"
		note "shim sampled" mi210 "not applicable" "nothing by dlsym is unseen; below: direct and raw"
		note "shim sampled, private ROCr" mi210 "not applicable" "a private ROCr finds the tool, too"
	fi
	for path in store direct sdma blit raw dlopened intercepted; do
		behaves "shim work: $path" tests/system/shim/path.sh "$path" 300
	done
	# From ROCr 6.3 on the thunk is within ROCr, and no other program can call it.
	if grep -q '^libhsakmt1 ' <<<"$packages"; then
		behaves "shim work: thunk" tests/system/shim/path.sh thunk 300
	else
		note "shim work: thunk" mi210 "not applicable" "the thunk is a part of ROCr"
	fi
	# 10,000 changes of queues, seen by the shim as by the driver.
	steps shim mi210 2 "$BUILD/random_queues_hsa"
	# Held at random times from beginning to end: every workgroup once.
	for level in trap self updates gate weight; do
		for api in $apis; do
			behaves "shim holds $api by $level" env APIS="$api" LEVEL="$level" bash tests/system/whole/counts.sh
		done
	done
	# Programs whose kernels are long enough that suspensions meet them.
	for api in $apis; do
		behaves "shim holds long kernels, $api" bash tests/system/whole/held_program.sh \
			"$build/matrix_$api" "$build"
	done
	for api in $apis; do
		behaves "shim peers, $api" env API="$api" bash tests/system/whole/peers.sh
	done
	behaves "shim peers, then a daemon" env WORKLOAD="$BUILD/shim_workload" bash tests/system/whole/takeover.sh
	behaves "shim dump" bash tests/system/daemon/dump.sh
}

# Processes without the shim, under the daemon: the result depends on what ROCr does by itself.
external() {
	local with="WORKLOAD=$BUILD/shim_workload"
	if [ "${rocr%%.*}" -lt 6 ]; then
		behaves "outsider refused" bash tests/system/daemon/external_refused.sh
		note outsider mi210 "not applicable" "ROCr 5 never enables its runtime"
		note "outsider's life" mi210 "not applicable" "ROCr 5 never enables its runtime"
	else
		note "outsider refused" mi210 "not applicable" "its runtime is enabled"
		behaves outsider bash tests/system/daemon/external.sh
		behaves "outsider's life" env "$with" bash tests/system/daemon/external_life.sh
	fi
}

run_suite() {
	local started=$SECONDS gpus=mi210 gpu
	enter_suite "$1"
	say "$suite: ROCr ${rocr:-missing}, HIP ${hip:-none}"
	rocminfo rocminfo mi210 1 gfx90a
	# 5.2.3 knows no gfx942.
	if [ "$suite" != bookworm ]; then
		gpus="mi210 mi308x"
		rocminfo rocminfo mi308x 1 gfx942
		rocminfo "rocminfo of 8 GPUs" mi308x 8 gfx942
	fi
	for gpu in $gpus; do
		steps hsa "$gpu" 1 "$build/matrix_hsa" "$build"
		[ -z "$hip" ] || steps hip "$gpu" 1 "$build/matrix_hip" "$build"
	done
	steps "hsa, shim:" mi210 1 env LD_PRELOAD="$BUILD/libkfdshim.so" "$build/matrix_hsa" "$build"
	[ -z "$hip" ] || steps "hip, shim:" mi210 1 env LD_PRELOAD="$BUILD/libkfdshim.so" "$build/matrix_hip" "$build"
	behaves "kfdreplay hsa" bash tests/system/kfdreplay/count.sh
	[ -z "$hip" ] || behaves "kfdreplay hip" bash tests/system/kfdreplay/hip.sh
	[ -z "$hip" ] || behaves "log of hip" bash tests/system/cli/import_log_hip.sh
	shim
	external
	# The last of the list: the largest of those that this generation knows.
	steps "24 queues on 8 GPUs:" "$gpu" 8 "$build/matrix_queues"
	[ -n "$rocr" ] || note rocr mi210 fail "no ROCr is there: packaging/deps.sh matrix installs it"
	[ -n "$hip" ] || [ "$suite" = trixie ] ||
		note hip mi210 fail "no HIP is there: packaging/deps.sh matrix installs it"
	printf '%s\t%s\t%s\t%s\n' "$suite" "$rocr" "$hip" $((SECONDS - started)) >>"$work/suites"
}

as_json() {
	jq -n --argjson virtual "$KFDSIM_VIRTUAL" --rawfile suites "$work/suites" --rawfile results "$results" '
		def rows: rtrimstr("\n") | split("\n") | map(split("\t"));
		($results | rows) as $r |
		{simulated: true, virtual: ($virtual == 1), passed: ([$r[] | .[3]] | index("fail") == null),
		 suites: [$suites | rows[] | . as $s |
			{suite: $s[0], rocr: $s[1], hip: (if $s[2] == "" then null else $s[2] end),
			 seconds: ($s[3] | tonumber),
			 steps: [$r[] | select(.[0] == $s[0]) |
				{name: .[1], gpu: .[2], result: .[3], reason: (if .[4] == "" then null else .[4] end)}]}]}'
}

# A line a step, a column a suite.
as_table() {
	awk -F '\t' '
		FILENAME == ARGV[1] { n++; suite[n] = $1; rocr[n] = $2; hip[n] = $3 == "" ? "-" : $3; next }
		{
			key = $2 " (" $3 ")"
			if (!(key in seen)) { seen[key] = 1; line[++lines] = key }
			cell[key, $1] = $4 == "fail" ? "FAIL" : $4 == "pass" ? "pass" : "n/a"
			if ($4 != "pass") reasons = reasons sprintf("%s, %s: %s: %s\n", $1, key, $4, $5)
		}
		function row(head, a,   i) {
			printf "%-38s", head
			for (i = 1; i <= n; i++) printf "  %-12s", a[i]
			printf "\n"
		}
		END {
			row(ENVIRON["KFDSIM_VIRTUAL"] == 1 ? "under kfdsim, in virtual time" : "under kfdsim", suite); row("ROCr", rocr); row("HIP", hip)
			for (l = 1; l <= lines; l++) {
				for (i = 1; i <= n; i++)
					values[i] = (line[l], suite[i]) in cell ? cell[line[l], suite[i]] : "-"
				row(line[l], values)
			}
			if (reasons != "") printf "\n%s", reasons
		}' "$work/suites" "$results" | sed 's/ *$//'
}

for name in ${only//,/ }; do
	run_suite "$name"
done
if [ "$json" = yes ]; then as_json; else as_table; fi
! cut -f 4 "$results" | grep -qx fail
