# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# kfdreplay on a simulated GPU. Brings the harness; root is the system whose runtimes it is to have
# (make matrix), this one without it.
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

# shellcheck disable=SC2034 # the tests use them
resnet=$SOURCE/traces/online_resnet50_b1.csv gpt2=$SOURCE/traces/offline_gpt2m_train_8x1024.csv
# shellcheck disable=SC2034
gemm=$SOURCE/traces/offline_gemm4000_f32.csv json=$work/out.json

# on_gpu [kfdsim options] -- COMMAND...: where a simulated MI210 is, ten times slower.
scale=0.1
on_gpu() {
	"$BUILD/kfdsim" --gpu mi210 --time-scale $scale ${root:+--root "$root"} "$@"
}
