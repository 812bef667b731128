#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# GANs of equations, here two critics of other sensors and a generator of each field by itself: realizations of a record and noise,
# the same on any number of ranks and after a stop in the middle of a round; each objective's plan has the backward part of what
# it trains alone.
. "${DLX_SOURCE:?}/test/lib.sh"
export OMP_NUM_THREADS=1
field=$DLX_BUILD/dlx-field
expect 0 "$field" elliptic --quiet -n 64 --points 101 --u-sensors 2 --k-sensors 5 --f-sensors 4 -o snapshots.dlx

cat >gan.yaml <<'END'
run: {name: gan}
model:
  family: networks
  noise: {xi: 3}
  networks:
    u: {inputs: [x, xi], dense: [16, 16]}
    k: {inputs: [x, xi], dense: [16, 16]}
    d: {inputs: [snapshot], dense: [16, 16]}
    left: {inputs: [snapshot], dense: [12]}
  let:
    f: -0.1 * d(k * d(u, x), x)
    real: join(us.u, ks.k, fs.f)
    fake: join(u @ us, k @ ks, f @ fs)
points:
  us: {record: snapshots.dlx, sensors: u, realizations: 12, resample: 1}
  ks: {record: snapshots.dlx, sensors: k, realizations: 12, resample: 1}
  fs: {record: snapshots.dlx, sensors: f, realizations: 12, resample: 1}
  ls: {record: snapshots.dlx, sensors: k, within: {x: [-1, 0]}, realizations: 12, resample: 1}
objective:
  critic:
    train: [d]
    times: 5
    minimise: {w: mean(d(fake)) - mean(d(real)), penalty: {of: "penalty(d, real, fake)", weight: 0.1}}
  hinge:
    train: [left]
    minimise:
      hinge: mean(max(0, 1 - left(ls.k)) + max(0, 1 + left(k @ ls)))
      r1: {of: "mean(slope(left, ls.k)^2)", weight: 0.5}
  heads: {train: [u], minimise: {w: -mean(d(fake))}}
  conductivities: {train: [k], minimise: {w: -mean(d(fake)), near: mean(softplus(-left(k @ ls)))}}
optimizer: {type: adam, learning_rate: 0.0005, beta1: 0.5, beta2: 0.9}
precision: {compute: f64}
train: {steps: 160}
report: {progress: none, every: 1}
END

run() {
	dir=$1
	shift
	expect 0 "$train" --set run.dir="runs/$dir" "$@" gan.yaml
}

begin "a stop in the middle of a round"
run whole --set train.steps=40
run stopped --set train.steps=15
run stopped --resume --set train.steps=40
[ "$(newest_state runs/whole)" = "$(newest_state runs/stopped)" ] || fail "stopped in the middle of a round: other bits"

begin "plans"
# trains NAMES SETTING...: the networks of the backward nodes of the first objective's plan are these.
trains() {
	names=$1
	shift
	expect 0 "$train" --plan "$@" gan.yaml
	of=$(awk '$2 == "backward" && $4 ~ /[.]dense_/ {sub(/[.].*/, "", $4); print $4}' out | sort -u | tr '\n' ' ')
	[ "$of" = "$names " ] || fail "the plan of a critic goes backward through $of"
}
trains d
trains 'd k u' --set objective.critic.train='[d, k, u]'

begin "ranks"
if has_ranks; then
	for ranks in 1 2 4; do
		expect 0 on_ranks $ranks "$train" --set run.dir="runs/ranks-$ranks" gan.yaml
		losses_of "runs/ranks-$ranks" >"losses-$ranks"
	done
	for ranks in 2 4; do
		paste losses-1 losses-$ranks | tr -d '",{}' | awk '$1 == "loss:" {
			for (i = 3; i <= NF; i++) if ($i == "loss:") b = $(i + 1)
			n++
			d = $2 - b
			if (d > 1e-6 || d < -1e-6) { print "step " n ": " $2 " and " b; bad = 1 }
		} END { exit bad || n < 160 }' || fail "$ranks ranks have other losses than one"
	done
	expect 78 on_ranks 2 "$train" --set run.dir=runs/odd --set points.us.realizations=11 \
		--set points.ks.realizations=11 --set points.fs.realizations=11 --set points.ls.realizations=11 gan.yaml
	says err "'us' has 11 realizations, which 2 ranks cannot share evenly; 12 can be"
fi

begin "a critic by itself"
# distance REAL WANTED PENALTY: the critic's difference between N(0, 1) and REAL, over the last 60 of 600 steps, which is the
# distance of Wasserstein but for what slopes near 1 cost. A penalty of slopes below 1, too, keeps a slope below 0, where it began.
distance() {
	cat >critic.yaml <<END
run: {name: critic}
model:
  family: networks
  noise: {xi: 1, eta: 1}
  networks: {d: {inputs: [value], dense: [16, 16]}}
  let: {real: $1 @ here, fake: eta @ here}
points: {here: {box: {x: 0}, realizations: 512}}
objective: {critic: {minimise: {w: mean(d(fake)) - mean(d(real)), penalty: {of: "$3", weight: 100}}}}
optimizer: {type: adam, learning_rate: 0.01}
schedule: cosine
train: {steps: 600}
report: {progress: none, every: 1}
END
	rm -rf runs/critic
	expect 0 "$train" critic.yaml
	sed -n 's/.*"term.w": \([-0-9.e]*\).*/\1/p' runs/critic/metrics.jsonl | tail -60 | awk -v wanted="$2" '{ sum += $1 } END {
		d = sum / NR - wanted
		if (NR != 60 || d > 0.03 || d < -0.03) { print "the critic finds " sum / NR ", not " wanted; exit 1 }
	}' || fail "see above"
}
distance '(xi + 3)' -3.045 'penalty(d, real, fake)'
distance '(xi - 1.5)' -1.506 'mean(max(0, slope(d, real) - 1)^2 + max(0, slope(d, fake) - 1)^2)'

begin "a bench with its table of nodes"
expect 0 "$train" --bench=2 --profile gan.yaml
says err 'matmul ('

begin "mistakes"
# mistake STATUS TEXT SETTING...: what --check says of gan.yaml with these.
mistake() {
	status=$1 text=$2
	shift 2
	expect "$status" "$train" --check "$@" gan.yaml
	says err "$text"
}
mistake 78 "'xi' is the name of something else, too" --set 'model.let.xi=1'
mistake 78 "the noise 'xi' is for realizations, which the set 'inside' has not: give it 'realizations: N'" \
	--set 'points.inside={box: {x: [-1, 1]}, count: 8}' --set objective.heads.minimise.more='mean(u^2 @ inside)'
mistake 78 "'lbfgs' does not train 'heads': its terms have random numbers" \
	--set 'objective.heads.optimizer=[{type: adam, steps: 5}, {type: lbfgs, steps: 5}]'
mistake 78 "'ks.k' has 6 realizations, 'us.u' has 12" --set points.ks.realizations=6
mistake 78 "'components' is out of range" --set model.noise.xi=0
pass
