#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: with --root, the programs of another system run in the simulation and nothing in its directory
# changes; if the directory has no system, kfdsim prints one line.
set -eu
# shellcheck source=tests/lib/kfdsim.inc.sh
. "$SOURCE/tests/lib/kfdsim.inc.sh"
as_root "$@"

# A system with one program: a copy of this one's shell and its libraries.
root=$work/system
mkdir -p "$root/usr/bin" "$root/tmp" "$root/etc"
chmod 1777 "$root/tmp"
echo other >"$root/etc/name"
cp "$(command -v dash)" "$root/usr/bin/sh"
cp "$(command -v cat)" "$root/usr/bin/cat"
for program in sh cat; do
	ldd "$root/usr/bin/$program" | grep -o '/[^ ]*'
done | sort -u | while read -r library; do
	mkdir -p "$root$(dirname "$library")"
	cp -L "$library" "$root$library"
done
ln -s usr/bin "$root/bin"
(cd "$root" && find . | sort) >"$work/before"

mkdir "$work/work"
cd "$work/work"
echo here >mine
outside >"$work/mounts_before"
# shellcheck disable=SC2016
expect 0 "$BUILD/kfdsim" --gpus 2 --root "$root" -- sh -euc '
	cat /etc/name mine /sys/class/kfd/kfd/topology/nodes/2/gpu_id /proc/self/comm
	test -w /dev/kfd
	test -w /dev/dri/renderD129
	test -x "$1"/kfdsim
	test ! -e /usr/bin/env
	test "$PWD" = "$2"
	echo made >made
	echo lost >/tmp/lost
	cat /proc/mounts >mounts' sh "$BUILD" "$work/work"
same "$(sed -n '1p;2p;4p' "$work/out" | tr '\n' ' ')" 'other here cat '
same "$(cat made)" made
! grep -q 'host_run\|/run/kfdsim' mounts || fail "the old root is still mounted"
outside >"$work/mounts_after"
cmp -s "$work/mounts_before" "$work/mounts_after" || fail "something was left mounted"
(cd "$root" && find . | sort) >"$work/after"
cmp -s "$work/before" "$work/after" || fail "its folder was changed: $(diff "$work/before" "$work/after")"
# PATH is searched inside.
expect 127 "$BUILD/kfdsim" --root "$root" -- env
one_line 'cannot run env'

expect 2 "$BUILD/kfdsim" --root "$work/nosuch" -- true
one_line 'cannot change root to .*nosuch'
expect 2 "$BUILD/kfdsim" --root "$root/etc/name" -- true
one_line 'is not a directory'
expect 2 "$BUILD/kfdsim" --root "$root/etc" -- true
one_line 'has no system'
expect 2 "$BUILD/kfdsim" --root / -- true
one_line 'omit it'

# The same works in a user namespace.
chmod 755 "$work"
chown 65534 "$work"
cd "$work"
cp "$BUILD/kfdsim" kfdsim
same "$(setpriv --reuid 65534 --regid 65534 --clear-groups \
	./kfdsim --root "$root" -- sh -c 'cat /etc/name; test -w /dev/kfd && echo yes')" \
	"$(printf 'other\nyes')"
