#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --root: another system's programs in the world of the GPU, nothing changed in
# its folder, and one line where it is none.
set -eu
# Needs root.
[ "$(id -u)" = 0 ] || exec "$SOURCE/tests/lib/as_root.sh" bash "$0" "$@"
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

# A system of one program: a copy of this one's shell with what it loads.
root=$DIR/system
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
(cd "$root" && find . | sort) >"$DIR/before"

mkdir "$DIR/work"
cd "$DIR/work"
echo here >mine
outside >"$DIR/mounts_before"
# shellcheck disable=SC2016
expect 0 "$KFDSIM" --gpus 2 --root "$root" -- sh -euc '
	cat /etc/name mine /sys/class/kfd/kfd/topology/nodes/2/gpu_id /proc/self/comm
	test -w /dev/kfd
	test -w /dev/dri/renderD129
	test -x "$1"/kfdsim
	test ! -e /usr/bin/env
	test "$PWD" = "$2"
	echo made >made
	echo lost >/tmp/lost
	cat /proc/mounts >mounts' sh "$BUILD" "$DIR/work"
same "$(sed -n '1p;2p;4p' "$DIR/out" | tr '\n' ' ')" 'other here cat '
same "$(cat made)" made
! grep -q 'host_run\|/run/kfdsim' mounts || fail "the old root is still mounted"
outside >"$DIR/mounts_after"
cmp -s "$DIR/mounts_before" "$DIR/mounts_after" || fail "something was left mounted"
(cd "$root" && find . | sort) >"$DIR/after"
cmp -s "$DIR/before" "$DIR/after" || fail "its folder was changed: $(diff "$DIR/before" "$DIR/after")"
# PATH is looked up inside.
expect 127 "$KFDSIM" --root "$root" -- env
said 'cannot run env'

expect 2 "$KFDSIM" --root "$DIR/nosuch" -- true
said 'cannot change root to .*nosuch'
expect 2 "$KFDSIM" --root "$root/etc/name" -- true
said 'is no folder'
expect 2 "$KFDSIM" --root "$root/etc" -- true
said 'holds no system'
expect 2 "$KFDSIM" --root / -- true
said 'leave it out'

# In a user namespace as well.
chmod 755 "$DIR"
chown 65534 "$DIR"
cd "$DIR"
cp "$KFDSIM" kfdsim
same "$(setpriv --reuid 65534 --regid 65534 --clear-groups \
	./kfdsim --root "$root" -- sh -c 'cat /etc/name; test -w /dev/kfd && echo yes')" \
	"$(printf 'other\nyes')"
