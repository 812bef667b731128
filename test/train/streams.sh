#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Derivatives that travel forward against those by reverse passes: the same losses and terms in float64, for networks and expressions
# of every kind; where derivatives cannot travel, the reason.
. "${DLX_SOURCE:?}/test/lib.sh"
export OMP_NUM_THREADS=1

cat >base.yaml <<'END'
run: {name: streams}
model: {family: networks, networks: {u: {inputs: [x, t], dense: [8, 7]}}}
points:
  inside: {box: {x: [-1, 1], t: [0, 1]}, count: 16}
  walls: {box: {x: {ends: [-1, 1]}, t: [0, 1]}, count: 8}
objective: {solve: {minimise: {a: mean(u^2 @ inside)}}}
optimizer: {type: adam, learning_rate: 0.01}
train: {steps: 3}
precision: {compute: f64}
report: {progress: none, every: 1}
END
u='u: {inputs: [x, t], dense: [8, 7]}'
burgers='d(u, t) + u * d(u, x) - 0.01 * d(u, x, x)'

# losses DIRECTORY: loss and terms of each step.
losses() {
	sed -n 's/.*"type": "step", "step": \([0-9]*\),.*"loss": \([^,}]*\),.*/\1 \2/p' "$1/metrics.jsonl"
	sed -n 's/.*"\(term[^"]*\)": \([^,}]*\).*/\1 \2/p' "$1/metrics.jsonl"
}

# compare HOW NETWORKS MINIMISE [SETTING...]: HOW --plan says that derivatives are taken.
number=0
compare() {
	how=$1 networks=$2 minimise=$3
	shift 3
	number=$((number + 1))
	set -- --set "model={family: networks, networks: {$networks}}" --set "objective.solve.minimise={$minimise}" "$@" base.yaml
	expect 0 "$train" --plan "$@"
	says out "; derivatives $how"
	DLX_DEBUG=$(debug skip=streams) expect 0 "$train" --plan "$@"
	says out '; derivatives by reverse passes (DLX_DEBUG=skip=streams)'
	for skip in nothing streams; do
		rm -rf runs
		(DLX_DEBUG=$(debug skip=$skip) && expect 0 "$train" --set run.dir=runs "$@") || fail
		losses runs >losses-$skip
	done
	paste losses-nothing losses-streams | awk '{ d = $2 - $4; m = $4 < 0 ? -$4 : $4; if ($1 != $3 || d > 1e-11 * (1 + m) || -d > 1e-11 * (1 + m)) { print; bad = 1 } }
		END { exit bad || NR < 6 }' || fail "other losses than by reverse passes: $networks; $minimise"
}

compare 'forward, 4 streams' "$u" "a: \"mean(($burgers)^2 @ inside)\", w: mean(u^2 @ walls)"
compare 'forward, 4 streams' "$u" 'a: "mean((d(u, x, x) + d(u, t, t) - sin(pi * x))^2 @ inside)", n: "mean((dn(u) - x)^2 @ walls)"'
compare 'forward, 3 streams' "$u" 'a: "mean((d(u, x, x) - 3 * d(u, x))^2 @ inside)"'
compare 'forward, 8 streams' "$u" 'a: "mean((d(u, x, x, x) * d(u, t) - d(u, x, t, t) / (2 + u^2))^2 @ inside)"'
compare 'forward, 11 streams' "$u" 'a: "mean((d(u, x, x, t, t) + d(u, x, x, x, x))^2 @ inside)"'
for activation in sin silu gelu sigmoid softplus; do
	compare forward "u: {inputs: [x, t], dense: [8, 7], activation: $activation}" 'a: "mean((d(u, x, x, t) - laplacian(u, x, t))^2 @ inside)"'
done
# Expressions of inputs and outputs, random sines, several outputs.
compare forward 'u: {inputs: [x, t], dense: [8, 7], input: ["sin(pi * x)", "cos(pi * x) * t", t^2], output: (1 - x^2) * t * net - sin(pi * x)}' \
	"a: \"mean(($burgers)^2 @ inside)\", b: \"mean((laplacian(u, x, t) * u)^2 @ inside)\""
compare forward 'u: {inputs: [x, t], dense: [8], fourier: {features: 4, scale: 0.5}, outputs: 3}' \
	'a: "mean((d(u[0], x, t) + div(join(u[1], u[2]), x, t))^2 @ inside)", b: "mean(norm(grad(u[2], x, t)) @ inside)"'
# Several networks; one of another's values; of fewer inputs; one at two sets and at a place; with an unknown number.
compare forward "$u, k: {inputs: [x], dense: [6]}" 'a: "mean((div(k * grad(u, x), x) - nu * d(u, t))^2 @ inside)", b: "mean((u(0, 0.5) - 1)^2)"' \
	--set 'variables={nu: {start: 0.5, positive: true}}'
compare forward "$u, v: {inputs: [u, x], dense: [6]}" 'a: "mean((d(v, x, x) + d(v, t, t) - d(u, x))^2 @ inside)", b: mean(v^2 @ walls)'
compare forward "$u, v: {inputs: [u, x], dense: [6], output: \"net * d(net, x)\"}" 'a: "mean((d(v, x, t) - u)^2 @ inside)"'
# What cannot travel.
compare "by reverse passes (not through 'v', which has another activation)" "$u, v: {inputs: [x], dense: [6], activation: relu}" \
	'a: "mean((d(u, x, x) + d(v, x))^2 @ inside)"'
compare "by reverse passes (not through 'u', which has one layer)" 'u: {inputs: [x, t], dense: [], output: sin(net)}' 'a: "mean((d(u, x, x) - 1)^2 @ inside)"'
compare 'by reverse passes (the order is too high)' 'u: {inputs: [x, t], dense: [3]}' 'a: "mean(d(u, x, x, x, x, x, x, x)^2 @ inside)"' --set points.inside.count=2

compare "by reverse passes (not through 'v', which has other layers)" "$u, v: {inputs: [x, t], layers: [{dense: 6}, tanh, {dense: 1}]}" \
	'a: "mean((d(u, x, x) + d(v, x) * v)^2 @ inside)"'

# Layers of a network without derivatives: the same bits, running statistics of the first place included.
for skipped in nothing streams; do
	(DLX_DEBUG=$(debug skip=$skipped) && expect 0 "$train" --set run.dir=norm-$skipped --set precision.compute=f32 \
		--set "model={family: networks, networks: {$u, v: {inputs: [x, t], layers: [{dense: 6}, batch_norm, tanh, {dense: 1}]}}}" \
		--set 'objective.solve.minimise={a: mean(v^2 @ inside), b: mean((u - 1)^2 @ inside), c: mean((v - 2)^2 @ walls)}' base.yaml) || fail
done
[ "$(newest_state norm-nothing)" = "$(newest_state norm-streams)" ] || fail "running statistics differ"

# Balanced weights and residuals that points are picked by.
compare forward "$u" "a: {of: \"mean(($burgers)^2 @ inside)\", weight: balanced}, w: {of: \"mean(d(u, x)^2 @ walls)\", weight: balanced}" \
	--set "points.inside={box: {x: [-1, 1], t: [0, 1]}, count: 16, resample: {by: \"$burgers\", every: 2, of: 100}}" \
	--set 'objective.solve.balance.every=2'
# The reference device.
compare forward "$u" "a: \"mean(($burgers)^2 @ inside)\"" --set device=reference
pass
