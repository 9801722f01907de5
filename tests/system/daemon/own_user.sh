#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: the unit runs the daemon as a user of its own, which the sysusers file creates, with
# the capabilities that the daemon keeps and no other. With that user and these capabilities,
# and a device that only root and a group may open, the daemon suspends processes of other
# users, its worker runs in real time, and a configuration that only root may read is refused
# with its name.
set -eu
# shellcheck source=tests/lib/daemon.inc.sh
. "$SOURCE/tests/lib/daemon.inc.sh"
as_root "$@"
unit=$BUILD/kfdschedd.service

# what_unit_says KEY: prints the value of a key of the unit file.
what_unit_says() {
	sed -n "s/^$1=//p" "$unit"
}

user=$(what_unit_says User)
[ -n "$user" ] || fail "the unit names no user"
capabilities=$(what_unit_says AmbientCapabilities)
[ "$capabilities" = "$(what_unit_says CapabilityBoundingSet)" ] ||
	fail "the unit gives '$capabilities' of '$(what_unit_says CapabilityBoundingSet)'"
[ "$capabilities" = "CAP_SYS_PTRACE CAP_SYS_NICE" ] || fail "the unit gives $capabilities"

in_a_world

# If systemd is installed, it creates what the file describes.
sysusers=$SOURCE/packaging/kfdsched.sysusers
[ "$(awk '$1 == "u" {print $2}' "$sysusers")" = "$user" ] || fail "$sysusers creates no $user"
[ "$(awk -v user="$user" '$1 == "m" && $2 == user {print $3}' "$sysusers" | sort | tr '\n' ' ')" = "render video " ] ||
	fail "$sysusers lets it open no device"
if command -v systemd-sysusers >/dev/null; then
	mkdir -p "$work/root/etc"
	systemd-sysusers --root="$work/root" "$sysusers" >"$work/created" 2>&1 || fail "sysusers: $(cat "$work/created")"
	grep -q "^$user:x:.*:/usr/sbin/nologin$" "$work/root/etc/passwd" || fail "the user: $(cat "$work/root/etc/passwd")"
	for group in render video; do
		grep -q "^$group:x:[0-9]*:$user$" "$work/root/etc/group" || fail "groups: $(cat "$work/root/etc/group")"
	done
fi

uid=992 gid=993 device_group=994
# The device has the rights that udev gives it, the folder those that RuntimeDirectory= gives.
chmod 660 /dev/kfd
chown "0:$device_group" /dev/kfd
chmod 711 "$work"
install -d -o "$uid" -g "$gid" -m 755 "$work/run"
install -m 755 "$BUILD/kfdschedd" "$work/kfdschedd"
chmod 644 "$work/patient.ini"

list=-all,+sys_ptrace,+sys_nice
as_unit=(setpriv --reuid "$uid" --regid "$gid" --groups "$device_group" --bounding-set "$list"
	--inh-caps "$list" --ambient-caps "$list" --no-new-privs)

# Only these rights keep the worker from the files of others, because Landlock cannot.
! "${as_unit[@]}" cat /etc/shadow >/dev/null 2>&1 || fail "these rights read /etc/shadow"
install -m 600 "$work/patient.ini" "$work/roots.ini"
! "${as_unit[@]}" "$work/kfdschedd" --foreground --socket "$KFDSHIM_SOCKET" --config "$work/roots.ini" 2>"$work/refused" ||
	fail "it read a file of root's"
grep -q "roots.ini.*Permission denied" "$work/refused" || fail "it says: $(cat "$work/refused")"

"${as_unit[@]}" "$work/kfdschedd" --foreground --socket "$KFDSHIM_SOCKET" "${daemon_options[@]}" 2>>"$work/log" &
daemon=$!
children+=("$daemon")
until_true 50 test -S "$KFDSHIM_SOCKET" || fail "no socket"
start_offline --seconds 60
start_online
suspend_offline

for process in "$daemon" "$(worker)"; do
	[ "$(awk '/^Uid:/ {print $2, $3, $4, $5}' "/proc/$process/status")" = "$uid $uid $uid $uid" ] ||
		fail "$process runs as $(grep ^Uid: "/proc/$process/status")"
done
awk '/^Cap(Inh|Prm|Eff|Amb):/ && $2 !~ /^0+$/ {exit 1}' "/proc/$(worker)/status" || fail "the worker has $(grep ^Cap "/proc/$(worker)/status")"
# Field 41: SCHED_RR is 2. Root of a user namespace has no right to it.
if chrt --rr 1 true 2>/dev/null; then
	[ "$(sed 's/.*) //' "/proc/$(worker)/stat" | cut -d ' ' -f 39)" = 2 ] || fail "the worker is not in real time"
else
	[ "$(grep -c "no permission for real-time" "$work/log")" = 1 ] || fail "the log does not say once that it is not in real time"
fi

kill -TERM "$daemon"
wait "$daemon" || fail "exit code $?"
[ -z "$(ls "$work/run")" ] || fail "left behind: $(ls "$work/run")"
