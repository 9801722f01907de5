#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Proves: the command gets what it would get without kfdsim: arguments, environment, standard streams,
# other descriptors, working directory, umask, limits; and no descriptor of kfdsim's own.
set -eu
# shellcheck source=tests/lib/harness.inc.sh
. "$SOURCE/tests/lib/harness.inc.sh"

expect 0 "$BUILD/kfdsim" -- printf '<%s>' 'a  b' '' --gpu
same "$(cat "$work/out")" '<a  b><><--gpu>'
expect 0 env -u HSA_USERPTR_FOR_PAGED_MEM A='x y' "$BUILD/kfdsim" -- env
grep -qx 'A=x y' "$work/out" || fail "the environment is lost"
grep -qx 'HSA_USERPTR_FOR_PAGED_MEM=0' "$work/out" || fail "signals would not be shared buffers"
expect 0 env HSA_USERPTR_FOR_PAGED_MEM=1 "$BUILD/kfdsim" -- env
grep -qx 'HSA_USERPTR_FOR_PAGED_MEM=1' "$work/out" || fail "the user's own choice is overridden"

head -c 300000 /dev/urandom >"$work/data"
"$BUILD/kfdsim" -- cat <"$work/data" >"$work/copy"
cmp "$work/data" "$work/copy" || fail "stdin to stdout changed the bytes"
expect 0 "$BUILD/kfdsim" -- sh -c 'echo talk >&2'
same "$(cat "$work/err"):$(cat "$work/out")" "talk:"
same "$("$BUILD/kfdsim" -- cat /proc/self/fd/5 5<<<five)" five

mkdir "$work/with blank"
same "$(cd "$work/with blank" && "$BUILD/kfdsim" -- pwd -P)" "$(cd "$work/with blank" && pwd -P)"
same "$(cd /dev/shm && "$BUILD/kfdsim" -- pwd -P)" /dev/shm
same "$(umask 027 && "$BUILD/kfdsim" -- sh -c umask)" 0027
same "$(ulimit -n 777 && "$BUILD/kfdsim" -- sh -c 'ulimit -n')" 777

# The descriptors are the same, also if a standard one is closed.
for closed in '' '<&-'; do
	expect 0 sh -c "exec ls /proc/self/fd $closed"
	cp "$work/out" "$work/without"
	expect 0 sh -c "exec '$BUILD/kfdsim' -- ls /proc/self/fd $closed"
	cmp "$work/out" "$work/without" || fail "with '$closed' descriptors differ: $(cat "$work/out")"
done

# The reader of a pipe sees its end as soon as the command closes it.
mkfifo "$work/pipe"
"$BUILD/kfdsim" -- sh -c 'exec >&-; exec sleep 600' >"$work/pipe" &
kfdsim=$!
timeout 10 cat "$work/pipe" || fail "kfdsim holds the command's stdout open"
kill "$kfdsim"
wait "$kfdsim" || true
