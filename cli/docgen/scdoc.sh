#!/bin/sh
# SPDX-License-Identifier: MIT
# scdoc.sh SCDOC DIR: every page's source there becomes a page.
set -eu
for source in "$2"/*.scd; do
	"$1" <"$source" >"${source%.scd}"
done
