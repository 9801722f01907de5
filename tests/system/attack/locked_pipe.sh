#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: a workload of another user that reads and writes whatever the daemon gave it with
# memory that never comes keeps no lock that the daemon waits for.
set -eu
# shellcheck source=tests/lib/attack.inc.sh
. "$SOURCE/tests/lib/attack.inc.sh"
in_a_world

find_fuse_device
begin
attack locked_pipe locked_pipe 6 "$fuse_device"
finish
