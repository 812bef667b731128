#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a run of equations decides by its residuals between steps: points picked where they are large.
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

# --- where the picks are ---
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

# --- a stop within a draw, and at its end ---
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
# A run may begin with it, and end it.
run later --set train.steps=100 --set points.inside.resample=50
run later --resume
run later --resume --set train.steps=130 --set points.inside.resample=50

# --- points of a record, with values; faces, with normals ---
expect 0 "$DLX_BUILD/dlx-field" burgers --quiet --dtype f32 -o values.dlx
run record --set train.steps=3 --set 'points={given: {record: values.dlx, count: 100, resample: {by: u - given.u, every: 2, of: 2000}}, wall: {box: {x: {ends: [-1, 1]}, t: [0, 1]}, count: 50, resample: {by: dn(u), every: 2, of: 200}}}' \
	--set 'objective.solve.minimise={physics: mean((u - given.u)^2 @ given), flux: mean(dn(u)^2 @ wall)}'

# --- ranks ---
if has_ranks; then
	for ranks in 1 2; do
		expect 0 on_ranks $ranks "$train" --set run.dir=runs/ranks-$ranks --set precision.compute=f64 wave.yaml
		losses_of runs/ranks-$ranks >ranks-$ranks
	done
	paste ranks-1 ranks-2 | awk '{ d = ($2 - $4) / $2; if (d > 1e-6 || d < -1e-6) { print "step " NR ": " $2 " and " $4; bad = 1 } }
		END { exit bad || NR < 120 }' || fail "two ranks have other losses than one"
fi

# --- mistakes ---
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
expect 76 "$train" --set run.dir=runs/infinite --set "$by=1 / (x - x)" wave.yaml
says err "at a candidate of 'inside'"
pass
