#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo: resnet50 inference beside GPT-2 training on one simulated MI210. The world's time is
# virtual, so the GPU has its true speed and the figures do not depend on this machine.
# `demo.sh --real-time`: by this machine's clock, with a GPU that is slow enough for it to serve.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/demo
status=0

if [ "${1-}" = --real-time ]; then
	# kfdsim and kfdschedd run with real-time priority if they may.
	if ! chrt --fifo 1 true 2>/dev/null; then
		echo "demo: $(id -un) may not use real-time priority: if other programs are busy here, the software" \
			"GPU is served too late, and the result may be INVALID. In that case: sudo packaging/demo.sh --real-time"
	fi
	echo "demo: measuring how promptly this machine serves a software GPU"
	scales=$(packaging/time_scale.sh 0.08 0.05 0.02 0.01 0.005)
	packaging/colocate.sh "$scales" "${DEMO_SECONDS:-45}" build/demo/report.json \
		--report build/demo/kfdsim.json || status=$?
else
	build/kfdsim --gpu mi210 --virtual --report build/demo/kfdsim.json -- build/kfdsched colocate \
		--online traces/online_resnet50_b1.csv --offline traces/offline_gpt2m_train_8x1024.csv \
		--load 0.2 --json build/demo/report.json --svg build/demo/report.svg || status=$?
fi
[ "$status" -gt 1 ] || echo "demo: wrote build/demo/report.json and build/demo/report.svg"
exit "$status"
