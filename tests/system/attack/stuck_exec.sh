#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: workloads of another user whose exec does not end, which keeps reads of their files in
# /proc waiting, hold up the process that reads for the daemon, and nothing else: others are
# served, and the worker stays.
set -eu
# shellcheck source=tests/lib/attack.inc.sh
. "$SOURCE/tests/lib/attack.inc.sh"
in_a_world

find_fuse_device
begin
newcomers_must_come
attack stuck_exec stuck_exec "$fuse_device" 20
grep -q "reads of its files in /proc block" "$work/log" ||
	problem "stuck_exec: no read has waited, so nothing is shown"
finish
