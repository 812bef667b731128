# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the test scripts. `make check` sets DLX_BUILD and DLX_SOURCE; each script works in a folder of its own that is
# removed if it passes (DLX_WORK, where one script runs several times at once). A script is one case, or several: a line `begin NAME`
# begins each, and the lines above the first are the set-up of all. The log has TAP's lines, "ok 2 - NAME". fail TEXT ends a case, and
# the script continues with the next one; in the set-up fail ends the script. skip TEXT ends the script as skipped, for want of hardware,
# of rights, or of what configure was called without; for want of a package `lacks` ends it as failed.
#
# No test judges how long something takes. What waits (capped, await, reached, ends, stop) has four fifths of the time that the test has
# (test/run), and says then what does not come.

# A script that is called by hand has the same rules.
[ "${DLX_TEST_STATE:-}" ] || exec "${DLX_SOURCE:?}/test/run" "$0" "$@"
set -u
may_wait=$((DLX_LIMIT * 4 / 5))
name=$(basename "$0" .sh)
case_script=$(realpath "$0")
work=${DLX_WORK:-${DLX_BUILD:?}/test-work/$name}
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 99

train=$DLX_BUILD/dlx-train
convert=$DLX_BUILD/dlx-convert
inspect=$DLX_BUILD/dlx-inspect
report=$DLX_BUILD/dlx-report
ckpt=$DLX_BUILD/dlx-ckpt

# debug WORD=VALUE...: the value of DLX_DEBUG with these words after those that are set.
debug() {
	(IFS=,; echo "${DLX_DEBUG:+$DLX_DEBUG,}$*")
}

# A run that takes other memory than was planned is an error.
DLX_DEBUG=$(debug strict=yes)
export DLX_DEBUG
# What has been proven of this machine's kernels holds for all tests.
export XDG_CACHE_HOME="$DLX_BUILD/test-cache"
# With 'device: auto' too, tests mean the CPU: also where there is a GPU.
export CUDA_VISIBLE_DEVICES=
coads=${DLX_COADS:-/usr/share/ferret-vis/data/coads_climatology.cdf}

case_number=1 cases_failed=0 case_name=$name case_line=0 in_case=
exec 8>&1

# case_ends RESULT [REASON]: "ok" or "not ok".
case_ends() {
	echo "$1 $case_number - $case_name${2:+ $2}"
	case_number=$((case_number + 1))
	in_case=
}

# begin NAME: a case, from a line that is in no function, loop or condition; the case before it has passed.
begin() {
	[ -z "$in_case" ] || case_ends ok
	case_name=$* in_case=yes
	case_line=$(awk -v after="$case_line" 'NR > after && /^begin "/ { print NR; exit }' "$case_script")
}

# fail [TEXT]: runs the cases that remain, then ends the script: a shell can continue elsewhere only by reading the lines from there.
# They find the files and variables that the failed case has left. A subshell only exits: ( ... ) || fail.
fail() {
	[ "$BASHPID" != $$ ] || exec </dev/null >&8 2>&1
	[ $# -eq 0 ] || echo "FAIL: $*"
	[ "$BASHPID" = $$ ] || exit 1
	case_ends 'not ok'
	cases_failed=$((cases_failed + 1))
	[ "$case_line" = 0 ] || eval "$(awk -v after="$case_line" 'NR > after && /^begin "/ { on = 1 } on' "$case_script")"
	finish 1
}

# finish STATUS: the end of the script; what a failed one leaves is kept.
finish() {
	echo "1..$((case_number - 1))"
	[ $cases_failed -eq 0 ] || exit 1
	cd "$DLX_BUILD" && rm -rf "$work"
	exit "$1"
}

skip() {
	echo "SKIP: $*"
	case_ends ok '# SKIP'
	finish 77
}

# lacks PACKAGE: Debian's, of the lists in ./bootstrap.
lacks() {
	fail "package '$1' is missing; ./bootstrap check installs it"
}

# declined FEATURE: whether configure was called without it.
declined() {
	"$DLX_BUILD/config.status" --config | grep -q -E -e "--(without-$1|with-$1=no)( |'|$)"
}

# built_with LIBRARY PACKAGE: whether configure found the library, which it takes where it is.
built_with() {
	grep -q "^#define HAVE_$1 1" "$DLX_BUILD/config.h" || lacks "$2"
}

# big: whether this is the long form of the test, which `make bigcheck` runs.
big() {
	[ "${DLX_TIER:-check}" = big ]
}

# form SHORT LONG: that of this run.
form() {
	if big; then echo "$2"; else echo "$1"; fi
}

# More tests run at a time than there are cores. Two threads of one that meet at a barrier, where oneDNN's spin, lose the time in which
# other tests have the core of one of them, so one thread computes unless a test requests more; in the long form as many as by default.
big || export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"

# capped COMMAND...: runs it, and ends it if it hangs, with status 124.
capped() {
	command -v "$1" >/dev/null || { command_not_found_handle "$1"; return; }
	timeout "$may_wait" "$@"
}

# on_ranks N COMMAND...: as N ranks.
on_ranks() {
	ranks_of_it=$1
	shift
	capped mpiexec -n "$ranks_of_it" "$@" </dev/null
}

# await COMMAND...: repeats it until it succeeds.
await() {
	wait_until=$(($(date +%s) + may_wait))
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$wait_until" ] || fail "in $may_wait s never so: $*"
		sleep 0.02
	done
}

# alive PID: whether the process runs or stands still: it has not ended.
alive() {
	case $1 in
	'' | *[!0-9]*) fail "'$1' is no process" ;;
	esac
	grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"
}

# awaits PID COMMAND...: repeats it until it succeeds, which process PID brings about; its output is in ./out and ./err.
awaits() {
	wait_for_pid=$1 wait_until=$(($(date +%s) + may_wait))
	shift
	until "$@" >/dev/null 2>&1; do
		alive "$wait_for_pid" || { "$@" >/dev/null 2>&1 && return; cat out err; fail "ended before: $*"; }
		[ "$(date +%s)" -lt "$wait_until" ] || { cat out err; fail "in $may_wait s never so: $*"; }
		sleep 0.02
	done
}

# reached FILE TEXT PID: waits until FILE has the text, which process PID writes.
reached() {
	awaits "$3" grep -qF -e "$2" "$1"
}

# send SIGNAL PID...: fails if an id is none, as where a file was empty, or a process has ended.
send() {
	sent=$1
	shift
	[ $# -gt 0 ] || fail "SIG$sent to no process"
	for sent_to in "$@"; do
		alive "$sent_to" || fail "SIG$sent to process $sent_to, which has ended"
		kill -s "$sent" "$sent_to"
	done
}

# ends PID: waits for the end of a process that this script has started; $status is its exit status.
ends() {
	ends_until=$(($(date +%s) + may_wait))
	while alive "$1"; do
		[ "$(date +%s)" -lt "$ends_until" ] || { cat out err; fail "in $may_wait s process $1 has not ended"; }
		sleep 0.02
	done
	wait "$1"
	status=$?
}

# stop PID [SIGNAL]: sends it (TERM) and waits for the end, of a process as for ends.
stop() {
	send "${2:-TERM}" "$1"
	ends "$1"
}

# expect STATUS COMMAND...: runs it with its output in ./out and ./err and checks the exit status.
# MPICH's mpiexec (4.0.2) may end by SIGPIPE itself where its program ends while it is still being started: on a busy machine 2 of
# 480 runs of "mpiexec -n 1 true", none of 800 whose program lived for 0.2 s. That run is made again.
expect() {
	expected_status=$1
	shift
	"$@" >out 2>err
	got_status=$?
	case "$got_status $*" in
	"141 on_ranks "* | "141 "*"mpiexec "*)
		"$@" >out 2>err
		got_status=$?
		;;
	esac
	[ "$got_status" -eq "$expected_status" ] || {
		cat out err
		fail "exit status $got_status instead of $expected_status: $*"
	}
}

# says FILE TEXT: FILE contains TEXT.
says() {
	grep -qF -e "$2" "$1" || {
		cat "$1"
		fail "'$1' does not say: $2"
	}
}

# convert_refuses STATUS TEXT OPTION...: dlx-convert ends so with these inputs and says TEXT, and no record is left.
convert_refuses() {
	refused_status=$1 refused_text=$2
	shift 2
	rm -f out.dlx
	expect "$refused_status" "$convert" -o out.dlx "$@"
	says err "$refused_text"
	[ ! -e out.dlx ] || fail "a record is left: $*"
}

# $coads has to be there.
find_coads() {
	[ -r "$coads" ] || lacks ferret-datasets
}

# Makes data/coads-train.dlx and data/coads-validation.dlx from the COADS climatology.
coads_data() {
	find_coads
	mkdir -p data
	coads_convert() {
		"$convert" --input "$coads:WSPD,UWND,VWND,SLP" --validity-mask --target "$coads:SST" --classes 10,20,27 \
			--ignore 255 --samples "$1" -o "$2" >convert.log 2>&1 || {
			cat convert.log
			fail "cannot convert the COADS climatology"
		}
	}
	coads_convert '!1,4,7,10' data/coads-train.dlx
	coads_convert '1,4,7,10' data/coads-validation.dlx
}

# idx_head SAMPLES SIDE: the head of an IDX file of square images of bytes.
idx_head() {
	printf "$(printf '\\0\\0\\010\\003\\0\\0\\0\\%o\\0\\0\\0\\%o\\0\\0\\0\\%o' "$1" "$2" "$2")"
}

# digits NAME SIDE SAMPLES FIRST [OPTION...]: NAME.dlx, images of the digits of FIRST and the numbers after it, and labels 0 and 1 of them.
digits() {
	digits_name=$1 digits_bytes=$(($2 * $2 * $3)) digits_first=$4
	idx_head "$3" "$2" | tee "$1.idx" >"$1-labels.idx"
	shift 4
	seq "$digits_first" 99999 | tr -d '\n' | head -c "$digits_bytes" >digits.bytes
	cat digits.bytes >>"$digits_name.idx"
	tr 0123456789 '\000\001\000\001\000\000\001\001\001\000' <digits.bytes >>"$digits_name-labels.idx"
	expect 0 "$convert" -q -f idx --input "$digits_name.idx" --target "$digits_name-labels.idx" --class-names none,some "$@" \
		-o "$digits_name.dlx"
}

# zeros NAME SIDE [OPTION...]: NAME.dlx, four images and labels that are zero everywhere.
zeros() {
	zeros_name=$1 zeros_bytes=$((4 * $2 * $2))
	idx_head 4 "$2" >"$1.idx"
	shift 2
	head -c "$zeros_bytes" /dev/zero >>"$zeros_name.idx"
	expect 0 "$convert" -q -f idx --input "$zeros_name.idx" --target "$zeros_name.idx" --class-names none,some "$@" -o "$zeros_name.dlx"
}

# imports MODULES PACKAGE: sets $python3 to one that can import these.
imports() {
	export PYTHONDONTWRITEBYTECODE=1
	for python3 in ${PYTHON:-} /usr/bin/python3 python3; do
		"$python3" -c "import $1" 2>/dev/null && return
	done
	lacks "$2"
}
find_python3() {
	imports json python3
}
find_numpy() {
	imports numpy python3-numpy
}
find_python() {
	imports 'numpy, torch' python3-torch
	python=$python3
}

# compute_bf16 CONFIG: the options with which the CPU computes in bf16, by emulation if need be; none where it cannot, as without
# AVX-512: what a test says of any precision it then says of float32.
compute_bf16() {
	set -- "$1" --set precision.compute=bf16 --set precision.allow_emulation=true
	! "$train" --check "$@" 2>&1 | grep -q "device 'cpu' cannot compute in bf16" || return 0
	shift
	echo "$@"
}

# least_limit: the least limit that ./err says all plans of a run can do with on this processor.
least_limit() {
	sed -n "s/.*'train.memory: {limit: \([0-9]*[KM]iB\)}' is the least .*/\1/p" err
}

# has_ranks: whether something starts ranks of this dlx-train; if not, another MPI than MPICH was chosen, or none.
has_ranks() {
	case $("$train" --version) in
	*'ranks: MPICH'*) command -v mpiexec >/dev/null || lacks mpich ;;
	*'ranks: no MPI'*) declined mpi || lacks libmpich-dev; return 1 ;;
	*) return 1 ;;
	esac
}
find_mpiexec() {
	has_ranks || skip "dlx-train was built without MPICH, whose mpiexec this test takes"
}

# weights_close A B TOLERANCE: the tensors of two safetensors files are as close as that.
weights_close() {
	"$python3" "$DLX_SOURCE/test/train/weights_close.py" "$@"
}

# npy_close A B TOLERANCE: two .npy files have one shape, and values as close as that.
npy_close() {
	PYTHONPATH=$DLX_SOURCE/test/train "$python3" - "$@" <<'EOF'
import sys
from npy_read import read
(shape, a), (other, b) = map(read, sys.argv[1:3])
assert shape == other and max(abs(x - y) for x, y in zip(a, b)) < float(sys.argv[3])
EOF
}

# version_of RUN: the manifest of its newest checkpoint.
version_of() {
	find "$1/checkpoints/versions" -name '*.json' ! -name '.*' | sort | tail -n 1
}

# steps_of RUN: how many its newest checkpoint has.
steps_of() {
	ls "$1/checkpoints/versions" | sed -n 's/^0*\([0-9][0-9]*\)-.*/\1/p' | sort -n | tail -n 1
}

# newest_state RUN: hash of the weights and the state of a run's newest checkpoint, whose manifest names them by their content.
newest_state() {
	sed -n '/^  "tensors"/,/^  ]/p' "$(version_of "$1")" | sha256sum
}

# losses_of RUN: the losses of its steps and the losses and metrics of its validations, a line each, as they came.
losses_of() {
	sed -n -e 's/.*"type": "step".*\("loss": [^,]*\),.*/\1/p' \
		-e 's/.*"type": "validation".*\("loss": .*\)/\1/p' "$1/metrics.jsonl"
}

# same_run A B: two runs have the same weights, state, losses and metrics, to the last bit.
same_run() {
	[ "$(newest_state "$1")" = "$(newest_state "$2")" ] || fail "$2: not the bits of $1"
	[ "$(losses_of "$1")" ] && [ "$(losses_of "$1")" = "$(losses_of "$2")" ] || {
		losses_of "$1"
		losses_of "$2"
		fail "$2: not the losses and metrics of $1"
	}
}

pass() {
	case_ends ok
	finish 0
}
