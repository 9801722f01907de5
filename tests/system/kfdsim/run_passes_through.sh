#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The command gets what it would get without kfdsim: arguments, environment,
# standard streams, other descriptors, working folder, umask, limits; and
# no descriptor of kfdsim's own.
set -eu
# shellcheck source=tests/lib/run.inc.sh
. "$SOURCE/tests/lib/run.inc.sh"

expect 0 "$KFDSIM" -- printf '<%s>' 'a  b' '' --gpu
same "$(cat "$DIR/out")" '<a  b><><--gpu>'
expect 0 env -u HSA_USERPTR_FOR_PAGED_MEM A='x y' "$KFDSIM" -- env
grep -qx 'A=x y' "$DIR/out" || fail "the environment is lost"
grep -qx 'HSA_USERPTR_FOR_PAGED_MEM=0' "$DIR/out" || fail "signals would not be shared buffers"
expect 0 env HSA_USERPTR_FOR_PAGED_MEM=1 "$KFDSIM" -- env
grep -qx 'HSA_USERPTR_FOR_PAGED_MEM=1' "$DIR/out" || fail "the user's own choice is overridden"

head -c 300000 /dev/urandom >"$DIR/data"
"$KFDSIM" -- cat <"$DIR/data" >"$DIR/copy"
cmp "$DIR/data" "$DIR/copy" || fail "stdin to stdout changed the bytes"
expect 0 "$KFDSIM" -- sh -c 'echo talk >&2'
same "$(cat "$DIR/err"):$(cat "$DIR/out")" "talk:"
same "$("$KFDSIM" -- cat /proc/self/fd/5 5<<<five)" five

mkdir "$DIR/with blank"
same "$(cd "$DIR/with blank" && "$KFDSIM" -- pwd -P)" "$(cd "$DIR/with blank" && pwd -P)"
same "$(cd /dev/shm && "$KFDSIM" -- pwd -P)" /dev/shm
same "$(umask 027 && "$KFDSIM" -- sh -c umask)" 0027
same "$(ulimit -n 777 && "$KFDSIM" -- sh -c 'ulimit -n')" 777

# The descriptors are the same, also where a standard one is closed.
for closed in '' '<&-'; do
	expect 0 sh -c "exec ls /proc/self/fd $closed"
	cp "$DIR/out" "$DIR/without"
	expect 0 sh -c "exec '$KFDSIM' -- ls /proc/self/fd $closed"
	cmp "$DIR/out" "$DIR/without" || fail "with '$closed' descriptors differ: $(cat "$DIR/out")"
done

# The reader of a pipe sees its end when the command closes it, not later.
mkfifo "$DIR/pipe"
"$KFDSIM" -- sh -c 'exec >&-; exec sleep 600' >"$DIR/pipe" &
kfdsim=$!
timeout 10 cat "$DIR/pipe" || fail "kfdsim holds the command's stdout open"
kill "$kfdsim"
wait "$kfdsim" || true
