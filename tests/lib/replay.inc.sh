# SPDX-License-Identifier: MIT
# For the tests that run kfdreplay. Reads BUILD and SOURCE; root: the system whose
# runtimes they are to have (make matrix), this one without it.
# shellcheck shell=bash
# shellcheck disable=SC2034 # used where this is read
REPLAY=$BUILD/kfdreplay
RESNET=$SOURCE/traces/online_resnet50_b1.csv
GPT2=$SOURCE/traces/offline_gpt2m_train_8x1024.csv
GEMM=$SOURCE/traces/offline_gemm4000_f32.csv
DIR=$(mktemp -d)
JSON=$DIR/out.json
trap 'rm -rf "$DIR"' EXIT

# on_gpu [kfdsim options] -- COMMAND...: where a simulated MI210 is, ten times slower.
scale=0.1
on_gpu() {
	"$BUILD/kfdsim" --gpu mi210 --time-scale $scale ${root:+--root "$root"} "$@"
}

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

# expect STATUS COMMAND...: runs it, output to $DIR/out and $DIR/err.
expect() {
	local want=$1 got=0
	shift
	"$@" >"$DIR/out" 2>"$DIR/err" || got=$?
	[ "$got" = "$want" ] || fail "'$*' ended with $got, not $want; it said: $(cat "$DIR/out" "$DIR/err")"
}

# said PATTERN: stderr was exactly one line, with the pattern in it.
said() {
	[ "$(wc -l <"$DIR/err")" = 1 ] || fail "not one line on stderr: $(cat "$DIR/err")"
	grep -qE -- "$1" "$DIR/err" || fail "no '$1' in: $(cat "$DIR/err")"
}

# check EXPRESSION...: each is true of the JSON.
check() {
	local expression
	for expression in "$@"; do
		jq -e "$expression" "$JSON" >/dev/null || fail "$expression is not so in $(cat "$JSON")"
	done
}
