#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# configs/batch/slurm.sh under a real Slurm, two nodes on this host: a job that is preempted is queued again and ends with the bits of an
# uninterrupted run, and so does an element of an array; each on one rank, and on ranks over both nodes, which srun starts by PMI-2.
. "${DLX_SOURCE:?}/test/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "slurmd runs jobs as root only"
PATH=$DLX_BUILD:$PATH:/usr/sbin
export PATH
command -v munged >/dev/null || lacks munge
for program in slurmctld slurmd sbatch squeue scontrol; do
	command -v $program >/dev/null || lacks slurm-wlm
done
coads_data

# --- the cluster: its own authentication and its own ports, gone with the test ---

cluster=$(mktemp -d /tmp/dlx-slurm-XXXXXX) || exit 99
port=$((20000 + $$ % 20000))
cleanup() {
	scontrol shutdown >/dev/null 2>&1
	for p in "$cluster"/*.pid; do
		[ -f "$p" ] && kill "$(cat "$p")" 2>/dev/null
	done
	sleep 0.3
	rm -rf "$cluster"
}
trap cleanup EXIT
trap 'exit 1' TERM INT HUP
mkdir "$cluster/state" "$cluster/spool.node1" "$cluster/spool.node2"
dd if=/dev/urandom of="$cluster/key" bs=128 count=1 2>/dev/null
chmod 400 "$cluster/key"
cat >"$cluster/slurm.conf" <<C
ClusterName=dlx
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$port
AuthType=auth/munge
AuthInfo=socket=$cluster/munge
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool.%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.%n.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=600
NodeName=node[1-2] NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=1 State=UNKNOWN
PartitionName=low Nodes=node[1-2] Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=600
PartitionName=high Nodes=node[1-2] MaxTime=INFINITE State=UP PriorityTier=10
C
# Where no control groups are mounted, only the plugin of the first kind begins without them; nothing here uses any.
echo CgroupPlugin=cgroup/v1 >"$cluster/cgroup.conf"
SLURM_CONF=$cluster/slurm.conf
OMP_NUM_THREADS=1            # the same bits on all nodes
export SLURM_CONF OMP_NUM_THREADS
munged --force --key-file="$cluster/key" --socket="$cluster/munge" --pid-file="$cluster/munged.pid" \
	--log-file="$cluster/munged.log" --seed-file="$cluster/seed" --num-threads=1 || fail "munged does not start"
slurmctld || fail "slurmctld does not start"
for node in node1 node2; do
	slurmd -N $node || fail "slurmd does not start"
done

# wait_for TEXT COMMAND...: until it prints TEXT alone.
wait_for() {
	text=$1 wait_until=$(($(date +%s) + may_wait))
	shift
	until [ "$("$@" 2>/dev/null | sort -u)" = "$text" ]; do
		[ "$(date +%s)" -lt "$wait_until" ] || { squeue; tail -n 5 "$cluster"/*.log; cat ./*.out; fail "'$*' does not say $text"; }
		sleep 0.2
	done
}
wait_for idle sinfo -h -o %t

# --- jobs ---

submit() {
	sbatch --parsable "$@" | cut -d ';' -f 1
}
# again JOB: a job that was queued again waits two minutes by default.
again() {
	wait_for PENDING squeue -h -j "$1" -o %T
	scontrol update JobId="$1" StartTime=now 2>/dev/null
}
state() {
	scontrol -o show job "$1" | sed 's/.*JobState=\([A-Z]*\).*/\1/'
}
# preempt JOB RUN NODES: when it has made some steps, by a job of more priority on this many nodes. JOB, which would go on for ever, then has
# some more steps to make, $steps in all.
preempt() {
	await grep -qF '"step": 5,' "$2/metrics.jsonl"
	other=$(submit --partition=high --nodes="$3" --output=other.out --wrap 'for i in $(seq 6000); do [ -e seen ] && exit; sleep 0.1; done')
	wait_for PENDING squeue -h -j "$1" -o %T
	steps=$(($(steps_of "$2") + 20))
	sed "s/steps: [0-9]*/steps: $steps/" endless.yaml >tiny.yaml
	touch seen
	wait_for COMPLETED state "$other"
	again "$1"
	wait_for COMPLETED state "$1"
	rm seen
	says "job-$1.out" 'resuming from checkpoint'
}

sed -e 's/dir: runs\/tiny, //' -e 's/steps: 9/steps: 1000000/' -e 's/checkpoint: .*/checkpoint: {every: null, reserve: 1}/' \
	-e 's/batch_size: 3/batch_size: 3, validate: {epochs: 0}/' "$DLX_SOURCE/test/train/tiny.yaml" >endless.yaml
sed 's/steps: [0-9]*/steps: 100/' endless.yaml >hundred.yaml
cp endless.yaml tiny.yaml
script=$DLX_SOURCE/configs/batch/slurm.sh
one="--ntasks=1 --nodes=1 --cpus-per-task=1 --output=job-%j.out"

begin "one rank, preempted"
# Preempted by a job of more priority that wants both nodes.
# shellcheck disable=SC2086
job=$(submit $one "$script" tiny.yaml --set run.seed=1)
preempt "$job" runs/tiny 2
expect 0 "$train" --set run.dir=runs/whole-1 --set run.seed=1 tiny.yaml
[ "$(newest_state runs/tiny)" = "$(newest_state runs/whole-1)" ] || fail "preempted: other bits than the whole run"
grep -q "\"scheduler\": \"slurm\", \"job\": \"$job\", \"restarts\": 1" runs/tiny/metrics.jsonl ||
	fail "the restart is not in metrics.jsonl"

begin "the elements of an array at the same time"
# The elements of an array, side by side.
array=$(submit --array=2-3 --ntasks=1 --nodes=1 --cpus-per-task=1 --output=job-%A_%a.out "$script" hundred.yaml)
wait_for COMPLETED state "${array}_2"
expect 0 "$train" --set run.dir=runs/whole-2 --set run.seed=2 hundred.yaml
[ "$(newest_state runs/hundred-2)" = "$(newest_state runs/whole-2)" ] || fail "array element 2: other bits than the whole run"
wait_for COMPLETED state "${array}_3"
grep -q "\"element\": \"3\"" runs/hundred-3/metrics.jsonl || fail "the element is not in metrics.jsonl"

begin "ranks over both nodes"
has_ranks || skip "one rank passed; dlx-train was built without MPICH, which srun starts by PMI-2"
srun --mpi=list 2>&1 | grep -q pmi2 || fail "this Slurm has no PMI-2"
SLURM_MPI_TYPE=pmi2
DLX_DEBUG=$(debug ranks_per_host=1)             # the nodes are one host
export SLURM_MPI_TYPE
two="--nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=1"
cp endless.yaml tiny.yaml
# shellcheck disable=SC2086
job=$(submit $two --output=job-%j.out "$script" tiny.yaml --set run.name=both --set run.seed=1)
preempt "$job" runs/both 1
expect 0 on_ranks 2 "$train" --set run.dir=runs/ranks-1 --set run.seed=1 tiny.yaml
says "job-$job.out" '2 hosts x 1 rank'
[ "$(newest_state runs/both)" = "$(newest_state runs/ranks-1)" ] || fail "ranks, preempted: other bits than the whole run"
grep -q "\"ranks\": 2, \"hosts\": 2,.*\"job\": \"$job\", \"restarts\": 1" runs/both/metrics.jsonl ||
	fail "the ranks' restart is not in metrics.jsonl"

begin "the elements of an array, one after the other"
# The elements of an array, one after the other.
# shellcheck disable=SC2086
array=$(submit --array=4-5 $two --output=job-%A_%a.out "$script" hundred.yaml)
wait_for COMPLETED state "${array}_4"
wait_for COMPLETED state "${array}_5"
expect 0 on_ranks 2 "$train" --set run.dir=runs/ranks-4 --set run.seed=4 hundred.yaml
[ "$(newest_state runs/hundred-4)" = "$(newest_state runs/ranks-4)" ] || fail "array element 4 on ranks: other bits than the whole run"
grep -q "\"ranks\": 2, \"hosts\": 2,.*\"element\": \"5\"" runs/hundred-5/metrics.jsonl || fail "the ranks of element 5 are not in metrics.jsonl"
pass
