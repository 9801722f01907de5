#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: answers that another user never reads, and connections that outlive the processes that
# made them, keep neither root nor a new client of a third user from being answered.
set -eu
# What lies unread counts against the limit on the daemon's descriptors: with a low one it takes
# few connections.
ulimit -n 2048
# shellcheck source=tests/lib/attack.inc.sh
. "$SOURCE/tests/lib/attack.inc.sh"
in_a_world

begin
newcomers_must_come
attack unread_answers unread_answers 8
finish
