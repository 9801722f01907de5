#!/bin/bash
# SPDX-License-Identifier: MIT
# as_root.sh COMMAND...: runs COMMAND as root: directly if the caller is root, and else as the root
# of a user namespace of its own, which has all capabilities on what that namespace owns. The
# caller's subordinate ids (/etc/subuid) are its other users, so that a test can be another user.
# It has a /dev/shm of its own, because the machine's may have files of the real root there.
set -eu
PATH=$PATH:/usr/sbin:/sbin # not in a plain user's
[ "$(id -u)" != 0 ] || exec "$@"
unshare --user --map-root-user --map-auto true || {
	echo "FAILED: this test needs root, or a user namespace with several users: install newuidmap" \
		"(uidmap) and give $(id -un) subordinate ids (usermod --add-subuids, --add-subgids)" >&2
	exit 1
}
exec unshare --user --map-root-user --map-auto --mount -- \
	sh -euc 'mount -t tmpfs -o mode=1777 shm /dev/shm; exec "$@"' sh "$@"
