#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian packages that are missing. Usage: deps.sh build|demo|test|bench|matrix|fresh [...]
# As root, or through sudo where that is there; otherwise it prints the list and stops.
set -eu

# What the compiler needs.
build="gcc libc6-dev make cmake ninja-build pkg-config
 libhsa-runtime-dev libdrm-dev libjansson-dev libinih-dev libseccomp-dev libmicrohttpd-dev libcap-dev libsystemd-dev libncurses-dev libsmartcols-dev liburcu-dev
 scdoc clang-14 lld-14 clang-19 lld-19"
# What the demo runs besides: AMD's runtime itself, and what reads a report in a script.
demo="libhsa-runtime64-1 jq"
# What the tests and checks call.
tests="libcmocka-dev libhsakmt-dev rocminfo python3 python3-jsonschema tmux ncurses-base mandoc bsdextrautils zsh strace binutils util-linux uidmap procps libxml2-utils git
 clang-format-14 cppcheck shellcheck libasan8 libubsan1 libtsan2 libamdhip64-5 curl"
# The test of newer GPUs makes a root folder with a newer ROCr (roots.sh).
tests="$tests debian-archive-keyring"
# What the benchmarks run, and count with.
bench="libhsa-runtime64-1 valgrind python3"
# What the matrix of runtimes builds (tests of the shim) and runs here, and makes the root folders
# of others with.
matrix="libcmocka-dev libhsakmt-dev libhsa-runtime64-1 rocminfo libamdhip64-5 debian-archive-keyring python3 jq"
# What ci/fresh makes a clean system with.
fresh="debootstrap debian-archive-keyring git"

say() {
	echo "deps: $*" >&2
}

wanted=""
for set in "$@"; do
	case $set in
	build) wanted="$wanted $build" ;;
	demo) wanted="$wanted $build $demo" ;;
	test) wanted="$wanted $build $demo $tests" ;;
	bench) wanted="$wanted $bench" ;;
	matrix) wanted="$wanted $matrix" ;;
	fresh) wanted="$wanted $fresh" ;;
	*)
		say "unknown set '$set': deps.sh build|demo|test|bench|matrix|fresh"
		exit 2
		;;
	esac
done

if ! command -v dpkg-query >/dev/null; then
	say "this is not a Debian system. Install what these Debian packages hold: $wanted"
	say "(then call cmake --preset release && cmake --build build)"
	exit 77
fi

missing=""
for package in $wanted; do
	state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
	case $state in
	*" installed") ;;
	*) case " $missing " in *" $package "*) ;; *) missing="$missing $package" ;; esac ;;
	esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
	root=""
elif command -v sudo >/dev/null; then
	root="sudo"
else
	say "missing:$missing"
	say "needs root or sudo; run as root:  apt-get install$missing"
	exit 77
fi

say "installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 # lists of words
if ! { $root env DEBIAN_FRONTEND=noninteractive apt-get update &&
	$root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } \
	>"$log" 2>&1 </dev/null; then
	tail -n 20 "$log" >&2
	say "apt-get failed (above)"
	exit 1
fi
