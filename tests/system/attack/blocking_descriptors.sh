#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves: descriptors of which the close blocks, sent with any message by another user, hinder
# neither the daemon nor its other clients. CASE: flush, of which a FUSE file system does not answer
# the close; linger, a TCP connection with data that cannot be sent.
set -eu
# shellcheck source=tests/lib/attack.inc.sh
. "$SOURCE/tests/lib/attack.inc.sh"
in_a_world

[ "$CASE" = linger ] || find_fuse_device
begin
attack "$CASE" blocking_descriptors 6 "$CASE" ${fuse_device:+"$fuse_device"}
finish
