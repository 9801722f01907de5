#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: preloaded into a program that uses no GPU, the library causes no output, no thread and no
# descriptor, and does not change the exit code; also in a root directory with little else, and without
# its agent beside it.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"
# The log is enabled, but even then there is no output.
export KFDSHIM_LOG=debug KFDSHIM_PRIORITY=online

# silent EXIT-CODE COMMAND...: the command ends so and prints nothing.
silent() {
	local want=$1
	shift
	expect "$want" "$@" </dev/null
	[ "$(cat "$work/out" "$work/err")" = "" ] || fail "$* prints something"
	echo "ok: $want from $*"
}

preload() {
	local lib=$1 want=$2
	shift 2
	silent "$want" env LD_PRELOAD="$lib" "$@"
}

everywhere() {
	preload "$1" 0 /bin/true
	preload "$1" 1 /bin/false
	preload "$1" 5 /bin/sh -c 'exit 5'
	preload "$1" 7 "$BYSTANDER" "$descriptors"
}

"$BYSTANDER" </dev/null >"$work/out" 2>&1
descriptors=$(cat "$work/out")
everywhere "$BUILD/libkfdshim.so"
(cd "$BUILD" && preload ./libkfdshim.so 7 "$BYSTANDER" "$descriptors")

mkdir "$work/alone"
cp "$BUILD/libkfdshim.so" "$work/alone"
everywhere "$work/alone/libkfdshim.so"

# A root directory with libc and two programs. The library has the same path inside and outside,
# because chroot(1) itself is preloaded, too.
root=$work/root
mkdir -p "$root/bin" "$root/proc" "$root$BUILD"
cp /bin/true "$BYSTANDER" "$root/bin"
cp "$BUILD/libkfdshim.so" "$BUILD/libkfdshim-agent.so" "$root$BUILD"
for so in $(ldd /bin/true "$BYSTANDER" | grep -o '/[^ ]*\.so[^ ]*' | sort -u); do
	mkdir -p "$root$(dirname "$so")"
	cp "$so" "$root$so"
done
# The mount namespace is its own, so that its /proc ends with it.
own=(--mount)
PATH=$PATH:/usr/sbin # for chroot, which is not in a plain user's PATH
[ "$(id -u)" = 0 ] || own=(--user --map-root-user --mount)
# shellcheck disable=SC2016 # meant for the inner shell
inside='mount --rbind /proc "$0/proc" && LD_PRELOAD=$BUILD/libkfdshim.so exec chroot "$0" "$@"'
silent 0 unshare "${own[@]}" sh -c "$inside" "$root" /bin/true
silent 7 unshare "${own[@]}" sh -c "$inside" "$root" "/bin/$(basename "$BYSTANDER")" "$descriptors"
