#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# data.stage on several ranks, of one host and of pretended ones: each extent is read once, the next run reads none, and losses and weights
# have the bits of one rank without staging, or of as many ranks where these cannot sum as one does.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
export OMP_NUM_THREADS=1
plain=$DLX_DEBUG
mkdir kept
cp data/*.dlx kept
same_sums="--set train.steps=6 --set train.global_batch_size=8 --set train.batch_size=1 --set parallel.reproducible=true \
	--set model.batch_norm=none"
uneven="--set train.steps=6 --set train.batch_size=1"
samples_of() {
	at=$(od -An -t u8 -j $(($(wc -c <"$1") - 72)) -N 8 "$1")
	echo $((at - 16))
}
total=$(($(samples_of data/coads-train.dlx) + $(samples_of data/coads-validation.dlx)))

# sum NAME: over the ranks of the last run.
sum() {
	sed -n "s/^stage: rank .* $1 \([0-9]*\).*/\1/p" err | awk '{ n += $1 } END { printf "%.0f\n", n }'
}
# stage RUN N PER_HOST OPTION...
stage() {
	run=runs/$1
	ranks=$2
	DLX_DEBUG=$plain
	DLX_DEBUG=$(debug stage_counts=yes stage_extent=20000 ranks_per_host="$3")
	shift 3
	expect 0 on_ranks "$ranks" "$train" --set run.dir="$run" "$@" "$config"
	[ "$(grep -c '^stage: rank' err)" -eq "$ranks" ] || { cat err; fail "not a line of each rank"; }
}
is() {
	[ "$(sum "$1")" -eq "$2" ] || { cat err; fail "$run: $(sum "$1") bytes $1 instead of $2"; }
}

expect 0 "$train" --set run.dir=runs/1 $same_sums "$config"

begin "each extent is read once"
# N PER_HOST pairs; 7 ranks on hosts of 3, 3 and 1.
for n in $(form "2,1 4,1 7,3 3,0" "2,1 2,0 3,0 4,1 4,2 7,1 7,3 8,1 8,2"); do
	ranks=${n%,*} per=${n#*,}
	case $ranks in
	3 | 7)
		options=$uneven like=runs/$n
		DLX_DEBUG=$plain,ranks_per_host=$per
		expect 0 on_ranks "$ranks" "$train" --set run.dir=$like $options "$config"
		;;
	*) options=$same_sums like=runs/1 ;;
	esac
	for copy in share all; do
		name=$ranks-$per-$copy
		stage "$name" "$ranks" "$per" $options --set "data.stage={dir: cache-$name, copy: $copy}"
		is read "$total"
		is sent "$(sum received)"
		[ "$copy" = all ] || is kept "$total"
		[ "$per" != 1 ] || [ "$(sum sent)" -gt 0 ] || fail "$name: nothing was sent"
		[ "$per" != 1 ] || grep -q '"data": {"read": [0-9]*, "sent": [1-9]' "$run/metrics.jsonl" || fail "$name: rates do not tell what was sent"
		same_run "$like" runs/"$name"
		stage "$name-again" "$ranks" "$per" $options --set "data.stage={dir: cache-$name, copy: $copy}"
		is read 0
		[ "$per" != 0 ] || is sent 0
		same_run "$like" runs/"$name-again"
	done
done

begin "what two hosts keep is read by four"
stage moved 4 1 $same_sums --set data.stage=cache-2-1-share
is read 0
is kept 0
same_run runs/1 runs/moved

begin "the same by the system calls"
if strace -o traced true 2>/dev/null; then
	whole=$(cat data/*.dlx | wc -c)
	for most in $((whole + 2 * 72)) 0; do
		rm -rf traces runs/traced
		mkdir traces
		DLX_DEBUG=$plain,stage_extent=20000,ranks_per_host=1 expect 0 capped strace -ff -y -e trace=pread64,read -o traces/of mpiexec -n 4 \
			"$train" --set run.dir=runs/traced $same_sums --set data.stage=cache-traced "$config"
		got=$(cat traces/of.* | sed -n 's/^p*read6*4*([0-9]*<[^>]*coads-[a-z]*\.dlx>.* = //p' | awk '{ n += $1 } END { printf "%.0f\n", n }')
		[ "$got" -eq "$most" ] || fail "the system has read $got bytes of record files instead of $most"
	done
	same_run runs/1 runs/traced
fi

begin "rank 0 reads headers and indices"
# Headers and indices are read by rank 0: other ranks of a run that finds all samples there read nothing of their files.
mkdir -p empty/data
for f in data/*.dlx; do
	head -c "$(wc -c <"$f")" /dev/zero >"empty/$f"
done
everything="--set data.stage.dir=$PWD/cache-all --set data.stage.copy=all"
stage everything 2 1 $same_sums $everything
for again in 1 2 3 4 5 6 7 8; do
	[ "$(sum kept)" -gt 0 ] || break
	[ $again -lt 8 ] || fail "not everything is kept after eight runs"
	rm -rf runs/everything
	stage everything 2 1 $same_sums $everything
done
expect 0 on_ranks 2 sh -c '[ "$PMI_RANK" = 0 ] || cd empty; exec "$@"' sh env DLX_DEBUG="$DLX_DEBUG" "$train" \
	--set run.dir="$PWD/runs/elsewhere" $same_sums $everything "$config"
is read 0
same_run runs/1 runs/elsewhere

begin "a damaged byte that another host is sent is found there, and mended where it is kept"
for copy in cache-4-1-share/*; do
	for at in 100000 300000 500000 700000; do
		[ "$(wc -c <"$copy")" -le $at ] || printf x | dd of="$copy" bs=1 seek=$at conv=notrunc 2>/dev/null
	done
done
stage damaged 4 1 $same_sums --set data.stage=cache-4-1-share
says err "the copy in 'cache-4-1-share' is damaged at byte "
[ "$(sum repaired)" -gt 0 ] || fail "nothing was mended"
same_run runs/1 runs/damaged
stage mended 4 1 $same_sums --set data.stage=cache-4-1-share
is read 0
is repaired 0

# background RUN N OPTION...: a run in the background on hosts of one rank, beyond its third step; process numbers in RUN.pid.RANK.
background() {
	run=runs/$1
	ranks=$2
	shift 2
	capped env DLX_DEBUG="$plain,stage_extent=20000,ranks_per_host=1,join_timeout=30" mpiexec -disable-auto-cleanup -n "$ranks" \
		sh -c 'echo $$ >"$1.pid.$PMI_RANK"; shift; exec "$@"' sh "$run" "$train" --set run.dir="$run" "$@" \
		--set train.steps=1000000 "$config" >out 2>err </dev/null &
	mpi=$!
	reached "$run/metrics.jsonl" '"type": "step", "step": 3,' $mpi
}

begin "a rank that is stopped, or is killed: the others report it and end"
background stopped 3 $uneven --set parallel.timeout=20s --set data.stage=stopped
send STOP "$(cat runs/stopped.pid.1)"
ends $mpi
! alive "$(cat runs/stopped.pid.1)" || send KILL "$(cat runs/stopped.pid.1)"
[ $status -ne 0 ] && [ $status -ne 124 ] || { cat out err; fail "a rank that stands still: exit status $status"; }
grep -q "^dlx-train: .*\(rank 1\|ranks of other\)" err || { cat err; fail "nobody says which rank is missing"; }
background killed 3 $uneven --set parallel.timeout=20s --set data.stage=stopped
send KILL "$(cat runs/killed.pid.2)"
ends $mpi
[ $status -ne 0 ] && [ $status -ne 124 ] || { cat out err; fail "a rank that is killed: exit status $status"; }

begin "killed while it stages: the next run resumes"
DLX_DEBUG=$plain,stage_extent=20000,ranks_per_host=1,crash_at=stage_written#2 on_ranks 4 "$train" --set run.dir=runs/crashed $same_sums \
	--set data.stage=crashed "$config" >out 2>err && fail "not killed"
stage crashed 4 1 $same_sums --set data.stage=crashed --resume
[ "$(sum read)" -lt "$total" ] || { cat err; fail "nothing is left of what was staged"; }
same_run runs/1 runs/crashed

begin "a record that is cut off while samples are read from it by their owners"
background gone 2 $uneven --set 'data.stage={dir: none, limit: 0}'
: >data/coads-train.dlx
ends $mpi
[ $status -eq 74 ] || { cat out err; fail "a record that is cut off: exit status $status"; }
says err "data/coads-train.dlx' ends at byte"
cp kept/coads-train.dlx data

begin "a rank that has no folder"
mkdir elsewhere
ln -s "$PWD/kept" elsewhere/data
DLX_DEBUG=$plain
: >elsewhere/no
expect 73 on_ranks 2 sh -c '[ "$PMI_RANK" = 0 ] || cd elsewhere; exec "$@"' sh "$train" --set run.dir="$PWD/runs/no" $uneven \
	--set data.stage=no/folder "$config"
says err 'rank 1 (host '
says err "cannot create folder 'no'"
pass
