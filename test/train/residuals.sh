#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a run of equations decides by its residuals between steps: points picked where they are large,
# and weights balanced by their gradients.
. "${DLX_SOURCE:?}/test/lib.sh"
export OMP_NUM_THREADS=1
debug strict=yes

cat >wave.yaml <<'END'
run: {name: wave}
model:
  family: networks
  networks: {u: {inputs: [x, t], dense: [16, 16], output: (1 - x^2) * t * net - sin(pi * x)}}
  let: {r: "d(u, t) + u * d(u, x) - 0.01 / pi * d(u, x, x)"}
points:
  inside: {box: {x: [-1, 1], t: [0, 1]}, count: 500, resample: {by: r, every: 50, of: 3000}}
objective: {solve: {minimise: {physics: mean(r^2 @ inside)}}}
optimizer: {type: adam, learning_rate: 0.002}
train: {steps: 120}
report: {progress: none, every: 1}
END

# term RUN STEP NAME
term() {
	sed -n "s,.*\"type\": \"step\"\, \"step\": $2\,.*\"$3\": \([^,}]*\).*,\1,p" "runs/$1/metrics.jsonl"
}

# within NUMBER LOW HIGH WORDS
within() {
	awk -v x="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(x != "" && x + 0 >= low && x + 0 <= high) }' ||
		fail "$4 is $1, not within $2 and $3"
}

run() {
	dir=$1
	shift
	expect 0 "$train" --set run.dir="runs/$dir" "$@" wave.yaml
}

begin "where the picks are"
# Picked by a function that is known, which the network does not change: a bump of deviation 0.1 about x = 0.5, t = 0.5.
run bump --set train.steps=60 --set 'points.inside={box: {x: [-1, 1], t: [0, 1]}, count: 200, resample: {by: bump, every: 50, of: 50000}}' \
	--set 'model.let={r: "d(u, t)", bump: "join(-exp(-50 * ((x - 0.5)^2 + (t - 0.5)^2)), 0 * u)"}' \
	--set 'objective.solve.minimise={physics: mean(r^2 @ inside), place: mean((x - 0.5)^2 @ inside), other: mean((t - 0.5) @ inside)}'
for step in 1 51; do
	within "$(term bump $step term/place)" 0.008 0.012 "the variance of the places picked at step $step"
	within "$(term bump $step term/other)" -0.02 0.02 "the mean of the places picked at step $step"
done
[ "$(term bump 1 term/place)" = "$(term bump 50 term/place)" ] || fail "points change within a draw"
[ "$(term bump 50 term/place)" != "$(term bump 51 term/place)" ] || fail "a new draw has the same points"
# By the network's own residual: larger at its picks than at points drawn evenly.
run picked
run even --set 'points.inside={box: {x: [-1, 1], t: [0, 1]}, count: 500, resample: 50}'
for step in 1 101; do
	within "$(term picked $step term/physics)" "$(term even $step term/physics | awk '{ print 1.3 * $1 }')" 1e9 \
		"the residual at points picked by it at step $step"
done

begin "a stop within a draw, and at its end"
for stop in 100 110; do
	run stopped --set train.steps=$stop
	run stopped --resume
	[ "$(newest_state runs/picked)" = "$(newest_state runs/stopped)" ] || fail "stopped after step $stop: other bits than the whole run"
	rm -r runs/stopped
done
phases='objective.solve.optimizer=[{type: adam, learning_rate: 0.002, steps: 70}, {type: lbfgs, steps: 50}]'
run phases --set "$phases" --set train=
run stopped --set "$phases" --set train.steps=100
run stopped --resume --set "$phases" --set train.steps=120
[ "$(newest_state runs/phases)" = "$(newest_state runs/stopped)" ] || fail "stopped within L-BFGS: other bits than the whole run"

begin "a run may begin with it, and end it"
run later --set train.steps=100 --set points.inside.resample=50
run later --resume
run later --resume --set train.steps=130 --set points.inside.resample=50

begin "points of a record, with values; faces, with normals"
expect 0 "$DLX_BUILD/dlx-field" burgers --quiet --dtype f32 -o values.dlx
run record --set train.steps=3 --set 'points={given: {record: values.dlx, count: 100, resample: {by: u - given.u, every: 2, of: 2000}}, wall: {box: {x: {ends: [-1, 1]}, t: [0, 1]}, count: 50, resample: {by: dn(u), every: 2, of: 200}}}' \
	--set 'objective.solve.minimise={physics: mean((u - given.u)^2 @ given), flux: mean(dn(u)^2 @ wall)}'

begin "balanced weights"
# Three numbers whose gradients are known: of a 5, of b 2 k, of c none of the first two.
cat >numbers.yaml <<'END'
run: {name: numbers}
model: {family: networks, networks: {u: {inputs: [x], dense: [4]}}}
variables: {k: 2, m: 1}
points: {inside: {box: {x: [0, 1]}, count: 4}}
objective:
  find:
    train: [k, m]
    minimise: {a: {of: 3 * k - 4 * m, weight: balanced}, b: {of: k^2, weight: balanced}, c: {of: m^2, weight: 0.5}}
    balance: {every: 3, keep: 0.25}
optimizer: {type: sgd, learning_rate: 0.01}
train: {steps: 10}
report: {progress: none, every: 1}
END
expect 0 "$train" --set run.dir=runs/numbers numbers.yaml
for step in 1 2 3 4 5 6 7 8 9 10; do
	echo $step "$(term numbers $step variable/k)" "$(term numbers $step variable/m)" "$(term numbers $step weight/a)" "$(term numbers $step weight/b)"
done >numbers
awk 'function off(x, y) { return (x - y) / y > 1e-5 || (y - x) / y > 1e-5 }
	BEGIN { k = 2; m = 1 }
	$1 % 3 == 1 { keep = $1 == 1 ? 0 : 0.25; s = 5 + 2 * k; a = keep * a + (1 - keep) * s / 5; b = keep * b + (1 - keep) * s / (2 * k) }
	{ k = k - 0.01 * (3 * a + 2 * k * b); m = m - 0.01 * (-4 * a + m) }
	off($4, a) || off($5, b) || off($2, k) || off($3, m) { print "not " k, m, a, b ": " $0; bad = 1 }
	END { exit bad || NR < 10 }' numbers || fail "weights are not balanced by the norms of gradients"

cat >both <<'END'
objective={solve: {minimise: {physics: {of: mean(r^2 @ inside), weight: balanced}, pin: {of: "mean((u(0.5, 1) - 0.5)^2)", weight: balanced}},
balance: {every: 20}, optimizer: [{type: adam, learning_rate: 0.002, steps: 70}, {type: lbfgs, steps: 50}]}}
END
both=$(tr '\n' ' ' <both)
run balanced --set "$both" --set train=
run stopped2 --set "$both" --set train.steps=30
run stopped2 --resume --set "$both" --set train.steps=90
run stopped2 --resume --set "$both" --set train.steps=120
[ "$(newest_state runs/balanced)" = "$(newest_state runs/stopped2)" ] || fail "balanced, stopped and resumed: other bits than the whole run"
[ "$(term balanced 70 weight/pin)" = "$(term balanced 120 weight/pin)" ] || fail "L-BFGS has other weights than those it began with"
[ "$(term balanced 60 weight/pin)" != "$(term balanced 61 weight/pin)" ] || fail "weights stay as they were"
run alone --set "$both" --set 'objective.solve.optimizer={type: lbfgs, steps: 3}' --set train.steps=3
[ "$(term alone 1 weight/pin)" != 1 ] || fail "L-BFGS alone has no balanced weights"

begin "ranks"
if has_ranks; then
	for ranks in 1 2; do
		expect 0 on_ranks $ranks "$train" --set run.dir=runs/ranks-$ranks --set precision.compute=f64 --set "$both" --set train= wave.yaml
		losses_of runs/ranks-$ranks >ranks-$ranks
	done
	paste ranks-1 ranks-2 | awk '{ d = ($2 - $4) / $2; if (d > 1e-6 || d < -1e-6) { print "step " NR ": " $2 " and " $4; bad = 1 } }
		END { exit bad || NR < 120 }' || fail "two ranks have other losses than one"
fi

begin "what --plan prints"
expect 0 "$train" --plan --set "$both" --set train= --set 'variables={k: {start: 1, bounds: [0, 2]}, m: {start: 3, positive: true}}' wave.yaml
for line in 'variables  *k: from 1, between 0 and 2' '  *m: from 3, positive' \
	'points  *inside: 500 points in x, t, sobol, drawn again every 50 steps, picked from 3000 by r' \
	'objectives  *solve: physics (balanced) + pin (balanced), adam for 70 steps; ' \
	'  *solve: physics (balanced) + pin (balanced), lbfgs for 50 steps; '; do
	grep -q "^$line" out || fail "--plan has no line like: $line"
done

begin "mistakes"
# mistake STATUS TEXT SETTING...
mistake() {
	status=$1 text=$2
	shift 2
	expect "$status" "$train" --check "$@" wave.yaml
	says err "$text"
}
by='points.inside.resample.by'
mistake 78 "unknown name 'v'" --set "$by=v^2"
mistake 78 "'mean(r @ inside)' has no value at each point of 'inside' to pick points by" --set "$by=mean(r @ inside)"
mistake 78 "'1' has no value at each point" --set "$by=1"
mistake 78 "sets are not resampled by a residual where one of several objectives has a phase of 'lbfgs'" --set "$phases" \
	--set 'objective.more={minimise: {m: mean(u^2 @ inside)}}'
mistake 78 "expected more candidates than 'count'" --set points.inside.resample.of=500
mistake 78 "'physics' alone is balanced: give another term 'weight: balanced', too" --set objective.solve.minimise.physics='{of: mean(r^2 @ inside), weight: balanced}'
mistake 78 "no term of 'solve' has 'weight: balanced'" --set objective.solve.balance.every=5
mistake 78 "'weight' must be a number" --set objective.solve.minimise.physics='{of: mean(r^2 @ inside), weight: equal}'
mistake 78 "'pin' depends on nothing that is trained, and cannot be balanced" --set "$both" --set 'objective.solve.minimise.pin={of: sum(x @ inside), weight: balanced}'
expect 76 "$train" --set run.dir=runs/infinite --set "$by=1 / (x - x)" wave.yaml
says err "at a candidate of 'inside'"
pass
