# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The harness of the test scripts. $work is a private folder; `children` are the processes that the
# script has started. However the script ends, these are killed, the functions in `at_end` run, and
# the folder is removed; if it has failed, the files out, err and log of the folder are shown.
#
# Reads BUILD and SOURCE. For in_a_world: root, the system whose runtimes the world has (make
# matrix); kernel, the release of its driver; world, one more setting.

# Descriptors that the caller left open are closed; bash reads the script from 255.
for descriptor in /proc/self/fd/*; do
	descriptor=${descriptor##*/}
	((descriptor < 3 || descriptor == 255)) || exec {descriptor}>&-
done

work=$(mktemp -d)
children=()
at_end=()
unset KFDSHIM_SOCKET KFDSHIM_PRIORITY KFDSHIM_GROUP KFDSHIM_SLO KFDSHIM_DISABLE LD_PRELOAD
export kfdsched=$BUILD/kfdsched # also of inner shells

clean_up() {
	local code=$? pid command file
	for pid in "${children[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	[ ${#children[@]} = 0 ] || wait "${children[@]}" 2>/dev/null || true
	for command in "${at_end[@]}"; do
		"$command" || code=1
	done
	for file in out err log; do
		[ $code = 0 ] || [ ! -s "$work/$file" ] || sed "s/^/$file: /" "$work/$file" >&2 || true
	done
	rm -rf "$work"
	exit $code
}
trap clean_up EXIT

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

# ---- where it runs ----

# again COMMAND...: runs it in place of this script, whose files are removed first.
again() {
	rm -rf "$work"
	exec "$@"
}

# as_root ARGUMENT...: from here on the script, with these arguments, is root.
as_root() {
	[ "$(id -u)" = 0 ] || again "$SOURCE/tests/lib/as_root.sh" bash "$0" "$@"
}

# in_a_world: from here on the script runs inside kfdsim.
world_options=(--gpu mi210)
in_a_world() {
	[ -n "${IN_A_WORLD:-}" ] ||
		IN_A_WORLD=1 again "$BUILD/kfdsim" "${world_options[@]}" ${world:+--set "$world"} \
			${kernel:+--kernel "$kernel"} ${root:+--root "$root"} -- bash "$0"
}

# ---- what a command does ----

# expect CODE COMMAND...: it ends with CODE, a pattern of the shell. Its output goes to $work/out
# and $work/err.
expect() {
	local code=$1 got=0
	shift
	"$@" >"$work/out" 2>"$work/err" || got=$?
	# shellcheck disable=SC2053 # a pattern
	[[ $got == $code ]] || fail "'$*' ended with $got, not $code"
}

# said TEXT, printed TEXT: the last command printed TEXT, on stderr or stdout.
said() {
	grep -qF -- "$1" "$work/err" || fail "stderr does not say '$1'"
}
printed() {
	grep -qF -- "$1" "$work/out" || fail "stdout does not say '$1'"
}

# printed_line TEXT: the last command printed this line.
printed_line() {
	grep -qxF -- "$1" "$work/out" || fail "stdout has no line '$1'"
}

# one_line PATTERN...: its stderr was exactly one line, with each extended pattern in it; besides the
# warning of a debug session.
one_line() {
	local pattern
	[ "$(grep -vc ": opens a debug session on process" "$work/err")" = 1 ] || fail "expected one line on stderr"
	for pattern in "$@"; do
		grep -qE -- "$pattern" "$work/err" || fail "stderr does not say '$pattern'"
	done
}

# refused CODE TEXT COMMAND...: it ends with CODE and one line with TEXT on stderr, and
# prints nothing.
refused() {
	local code=$1 text=$2
	shift 2
	expect "$code" "$@" </dev/null
	one_line ""
	said "$text"
	[ ! -s "$work/out" ] || fail "'$*' is refused and prints something"
}

# ---- comparisons ----

same() {
	[ "$1" = "$2" ] || fail "'$1' is not '$2'"
}

# holds FILE EXPRESSION...: each expression is true of the JSON in the file.
holds() {
	local file=$1 expression
	shift
	for expression in "$@"; do
		jq -e "$expression" "$file" >/dev/null || fail "not so: $expression: $(head -c 3000 "$file")"
	done
}

# schema NAME FILE [--lines]: the file, or each of its lines, keeps to the generated schema NAME.json.
schema() {
	"$SOURCE/tests/lib/schema.py" "$BUILD/pages/schemas/$1.json" "${@:2}" || fail "$2 is not as $1.json has it"
}

# until_true TENTHS COMMAND...: tries it that often, every tenth of a second. From three
# seconds on the number is only there to end a hang, and is at least half a minute.
until_true() {
	local tries=$1 i
	((tries < 30 || tries >= 300)) || tries=300
	shift
	for ((i = 0; i < tries; i++)); do
		if "$@"; then
			return 0
		fi
		sleep 0.1
	done
	return 1
}

# soon COMMAND...: succeeds, soon.
soon() {
	until_true 900 "$@" || fail "not soon: $*"
}

# proc_status PID KEY: the first word of what /proc/PID/status says. A root of the matrix has no awk.
proc_status() {
	sed -n "s/^$2:[[:space:]]*\\([^[:space:]]*\\).*/\\1/p" "/proc/$1/status"
}

# has_ended PID: the process does not exist, or is a zombie.
has_ended() {
	! grep -qv ') Z ' "/proc/$1/stat" 2>/dev/null
}
