#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: another user that connects as fast as it can keeps root from nothing.
set -eu
# shellcheck source=tests/lib/attack.inc.sh
. "$SOURCE/tests/lib/attack.inc.sh"
in_a_world

begin
attack connect_loop connect_loop 8
finish
