#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Networks that solve equations: against known solutions, with an unknown number, by several objectives in turn; the same bits
# after a stop, the same losses on two ranks; mistakes at their places; the configs of configs/physics and of dlx-physics(7).
. "${DLX_SOURCE:?}/test/lib.sh"
export OMP_NUM_THREADS=1
field=$DLX_BUILD/dlx-field
expect 0 "$field" poisson --quiet -o poisson.dlx
expect 0 "$field" burgers --quiet -o burgers.dlx
expect 0 "$field" burgers --quiet --sensors 2000 -o sensors.dlx
expect 0 "$field" allen-cahn --quiet -o allen-cahn.dlx
expect 0 "$field" heat --quiet --sensors 200 -o heat-sensors.dlx
expect 0 "$field" gaussian --quiet -n 1 -o k.dlx
expect 0 "$field" darcy --quiet -n 1 -o darcy.dlx
cavity=$DLX_SOURCE/configs/physics/cavity.csv
expect 0 "$DLX_BUILD/dlx-convert" --quiet --input "$cavity:x,y" --target "$cavity:u" -o cavity.dlx
expect 0 "$field" gaussian --quiet -n 60 --points 16,16 -o fields.dlx
expect 0 "$field" gaussian --quiet -n 20 --first 60 --points 16,16 -o held.dlx

cat >poisson.yaml <<'END'
run: {name: poisson}
model: {family: networks, networks: {u: {inputs: [x], dense: [32, 32]}}}
points:
  inside: {box: {x: [-1, 1]}, count: 64}
  walls: {box: {x: {ends: [-1, 1]}}}
objective:
  solve:
    minimise:
      physics: mean((d(u, x, x) + pi^2 * sin(pi * x))^2 @ inside)
      walls: {of: mean(u^2 @ walls), weight: 100}
data: {validation: poisson.dlx}
metrics: [relative_l2, max_error]
optimizer: {type: adam, learning_rate: 0.003}
schedule: cosine
train: {steps: 3000}
report: {progress: none}
END

# value FILE NAME: the last value so named in metrics.jsonl.
value() {
	sed -n "s,.*\"$2\": \([^,}]*\).*,\1,p" "$1/metrics.jsonl" | tail -n 1
}

# within NUMBER LOW HIGH WORDS
within() {
	awk -v x="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(x != "" && x + 0 >= low && x + 0 <= high) }' ||
		fail "$4 is $1, not within $2 and $3"
}

run() {
	dir=$1
	shift
	expect 0 "$train" --set run.dir="runs/$dir" "$@"
}

begin "a known solution"
run poisson poisson.yaml
within "$(value runs/poisson relative_l2)" 0 0.003 "the error of Poisson's equation"
expect 0 "$train" --resume=best --evaluate --json --set run.dir=runs/poisson poisson.yaml
within "$(sed -n 's/.*"relative_l2": \([^,}]*\).*/\1/p' out)" 0 0.003 "the error by --evaluate"
for name in term/physics term/walls; do
	[ "$(value runs/poisson $name)" ] || fail "metrics.jsonl has no $name"
done
run lines --set report.progress=lines --set train.steps=2 --set 'variables={k: 2}' \
	--set 'objective.solve.minimise.walls=mean((u - k)^2 @ walls)' poisson.yaml
grep -q '^step 1/2  loss [-0-9.e]*  physics [-0-9.e]*  walls [-0-9.e]*  k [0-9.]*  lr 0.003' out || fail "progress without terms: $(cat out)"
run float64 --set precision.compute=f64 --set train.steps=2000 poisson.yaml
within "$(value runs/float64 relative_l2)" 0 0.003 "the error of Poisson's equation in float64"

begin "a condition that holds exactly, also of a network that is not trained"
hard='model={family: networks, networks: {u: {inputs: [x], dense: [8], output: (1 - x^2) * net + x}}}'
run hard --set "$hard" --set train.steps=2 --set 'objective.solve.minimise={walls: sum(abs(u - x) @ walls)}' poisson.yaml
[ "$(value runs/hard term/walls)" = 0 ] || fail "a hard condition is off by $(value runs/hard term/walls)"

begin "a stop in the middle"
resampled='points.inside={box: {x: [-1, 1]}, count: 64, resample: 50}'
run whole --set "$resampled" --set train.steps=300 --set schedule=constant poisson.yaml
for stop in 100 130; do
	run stopped$stop --set "$resampled" --set train.steps=$stop --set schedule=constant poisson.yaml
	run stopped$stop --resume --set "$resampled" --set train.steps=300 --set schedule=constant poisson.yaml
	[ "$(newest_state runs/whole)" = "$(newest_state runs/stopped$stop)" ] ||
		fail "stopped after step $stop: other bits than the whole run"
done
run kept --set train.steps=300 --set schedule=constant poisson.yaml
[ "$(newest_state runs/whole)" != "$(newest_state runs/kept)" ] || fail "'resample' changes nothing"

begin "measurements of a table, by the names of its columns"
printf 'x,u\n-1,0\n-0.5,-1\n0,0\n0.5,1\n1,0\n' >table.csv
expect 0 "$DLX_BUILD/dlx-convert" --quiet --input table.csv:x --target table.csv:u -o table.dlx
run table --set 'points.walls={record: table.dlx}' --set 'objective.solve.minimise.walls=mean((u - walls.u)^2 @ walls)' \
	--set data.validation=table.dlx --set train.steps=20 poisson.yaml
[ "$(value runs/table relative_l2)" ] || fail "a network is not compared with the column of its name"

begin "an unknown number, whose sensors are a record"
cat >inverse.yaml <<'END'
run: {name: inverse}
model: {family: networks, networks: {u: {inputs: [x], dense: [24, 24]}}}
variables: {k: {start: 2, positive: true}}
points:
  inside: {box: {x: [-1, 1]}, count: 64}
  sensors: {record: poisson.dlx}
objective:
  find:
    minimise:
      physics: mean((d(u, x, x) + k * pi^2 * sin(pi * x))^2 @ inside)
      sensors: {of: mean((u - sensors.u)^2 @ sensors), weight: 100}
optimizer: {type: adam, learning_rate: 0.01}
schedule: cosine
train: {steps: 2000}
report: {progress: none}
END
run inverse inverse.yaml
within "$(value runs/inverse variable/k)" 0.99 1.01 "the coefficient"
run bounded --set 'variables.k={start: 2, bounds: [0.5, 3]}' inverse.yaml
within "$(value runs/bounded variable/k)" 0.97 1.03 "the coefficient with bounds"
run bound --set 'variables.k={start: 2, bounds: [1.5, 3]}' --set train.steps=500 inverse.yaml
within "$(value runs/bound variable/k)" 1.5 1.8 "the coefficient at a bound"

begin "two objectives in turn: the network by one, the number by the other, each with its optimizer"
cat >turns <<'END'
objective={fit: {train: [u], times: 2, minimise: {sensors: mean((u - sensors.u)^2 @ sensors)}}, find: {train: [k],
minimise: {physics: "mean((d(u, x, x) + k * pi^2 * sin(pi * x))^2 @ inside)"}, optimizer: {type: sgd, learning_rate: 0.01}, schedule: constant}}
END
run turns --set "$(tr '\n' ' ' <turns)" inverse.yaml
within "$(value runs/turns variable/k)" 0.97 1.03 "the coefficient of two objectives"

begin "validation, --evaluate and --predict use the averages that one of several objectives keeps"
averaged='objective.fit={train: [u], minimise: {sensors: mean((u - sensors.u)^2 @ sensors)}, optimizer: {type: adam,
learning_rate: 0.01, average: {decay: 0.9}}}'
set -- --set "objective.find={train: [k], minimise: {k: (k - 1)^2}, optimizer: sgd}" --set "$averaged" --set schedule=constant \
	--set data.validation=poisson.dlx --set 'metrics=[relative_l2]' inverse.yaml
run averaged --set train.steps=60 "$@"
validated=$(value runs/averaged relative_l2)
run averaged --evaluate --json "$@"
says out "\"relative_l2\": $validated}"
run averaged --evaluate --json --weights=last "$@"
grep -q "\"relative_l2\": $validated}" out && fail "validation takes the last weights of an objective that averages them"
run averages-stopped --set train.steps=33 "$@"
run averages-stopped --resume --set train.steps=60 "$@"
[ "$(newest_state runs/averaged)" = "$(newest_state runs/averages-stopped)" ] || fail "a resumed run has other averages"

begin "other equations with known solutions"
# Other equations, with solutions that are known: terms of weight 0 say how far off a network is.
# A soliton of the Korteweg-de Vries equation: third order.
cat >kdv.yaml <<'END'
run: {name: kdv}
model:
  family: networks
  networks: {u: {inputs: [x, t], dense: [24, 24]}}
  let:
    soliton: 1 / cosh(x + 1 - 4 * t)^2 * 2
    residual: d(u, t) + 6 * u * d(u, x) + d(u, x, x, x)
    known: d(soliton, t) + 6 * soliton * d(soliton, x) + d(soliton, x, x, x)
points:
  inside: {box: {x: [-4, 4], t: [0, 0.5]}, count: 256}
  start: {box: {x: [-4, 4], t: 0}, count: 64}
  ends: {box: {x: {ends: [-4, 4]}, t: [0, 0.5]}, count: 32}
objective:
  solve:
    minimise:
      equation: mean(residual^2 @ inside)
      start: {of: mean((u - soliton)^2 @ start), weight: 100}
      ends: {of: mean((u - soliton)^2 @ ends), weight: 10}
      slope: mean((d(u, x) - d(soliton, x))^2 @ ends)
      known: {of: mean(known^2 @ inside), weight: 0}
      error: {of: mean((u - soliton)^2 @ inside) / mean(soliton^2 @ inside), weight: 0}
    optimizer: [{type: adam, learning_rate: 0.01, steps: 200}, {type: lbfgs, steps: 300}]
END
# Walls of Robin around a plate with a hole, but for one of Dirichlet.
cat >robin.yaml <<'END'
run: {name: robin}
model:
  family: networks
  networks: {u: {inputs: [x, y], dense: [20, 20]}}
  let: {exact: sin(x) * exp(y / 2)}
points:
  plate: {box: {x: [0, 1], y: [0, 1]}, minus: {disk: {center: {x: 0.5, y: 0.5}, radius: 0.2}}, count: 200}
  left: {box: {x: 0, y: [0, 1]}, count: 32}
  rim: {faces: plate, minus: left, count: 128}
objective:
  solve:
    minimise:
      equation: mean((laplacian(u) - laplacian(exact))^2 @ plate)
      left: {of: mean((u - exact)^2 @ left), weight: 10}
      robin: {of: mean((dn(u) + 2 * u - (dn(exact) + 2 * exact))^2 @ rim), weight: 10}
      error: {of: mean((u - exact)^2 @ plate) / mean(exact^2 @ plate), weight: 0}
    optimizer: [{type: adam, learning_rate: 0.01, steps: 100}, {type: lbfgs, steps: 200}]
END
# Three fields: a slow flow through a channel.
cat >stokes.yaml <<'END'
run: {name: stokes}
model:
  family: networks
  networks:
    u: {inputs: [x, y], dense: [16, 16]}
    v: {inputs: [x, y], dense: [16, 16]}
    p: {inputs: [x, y], dense: [16, 16]}
points:
  inside: {box: {x: [0, 1], y: [0, 1]}, count: 200}
  walls: {faces: inside, count: 64}
objective:
  solve:
    minimise:
      momentum: "mean((grad(p) - laplacian(join(u, v)))^2 @ inside)"
      continuity: mean(div(join(u, v))^2 @ inside)
      walls: {of: "mean((join(u, v) - join(y * (1 - y), 0))^2 @ walls)", weight: 10}
      pin: "mean(p(0, 0)^2)"
      error: {of: "mean((join(u, v, p) - join(y * (1 - y), 0, -2 * x))^2 @ inside)", weight: 0}
    optimizer: [{type: adam, learning_rate: 0.01, steps: 100}, {type: lbfgs, steps: 200}]
END
for name in kdv robin stokes; do
	run $name --set precision.compute=f64 --set report.progress=none $name.yaml
done
within "$(value runs/kdv term/known)" 0 1e-20 "the residual of the soliton"
within "$(value runs/kdv term/error)" 0 1e-4 "the squared error of the soliton"
within "$(value runs/robin term/error)" 0 1e-5 "the squared error inside walls of Robin"
within "$(value runs/stokes term/error)" 0 1e-2 "the squared error of the flow"

begin "values that are not finite"
expect 76 "$train" --set run.dir=runs/diverged --set 'optimizer={type: sgd, learning_rate: 1e6}' poisson.yaml
says err "in the forward part"
says err "at the points of this step"

begin "ranks"
if has_ranks; then
	# Nothing is odd or even here: gradients that cancel to rounding errors would be steps to Adam.
	# ranks_differ NAME RESIDUAL OPTION...
	ranks_differ() {
		name=$1 residual=$2
		shift 2
		for ranks in 1 2; do
			expect 0 on_ranks $ranks "$train" --set run.dir="runs/$name-$ranks" --set train.steps=20 --set report.every=1 \
				--set 'points={inside: {box: {x: [-0.6, 1]}, count: 64, resample: 7}, walls: {box: {x: {ends: [-0.6, 1]}}}}' \
				--set "objective.solve.minimise.physics=$residual" "$@" poisson.yaml
			losses_of "runs/$name-$ranks" >"$name-$ranks"
		done
		paste "$name-1" "$name-2" | tr -d '",{}' | awk '$1 == "loss:" {
			for (i = 3; i <= NF; i++) if ($i == "loss:") b = $(i + 1)
			n++
			d = ($2 - b) / $2
			if (d > 1e-6 || d < -1e-6) { print "step " n ": " $2 " and " b; bad = 1 }
		} END { exit bad || n < 20 }' || fail "two ranks have other losses than one: $name"
	}
	ranks_differ mean 'mean((d(u, x, x) + pi^2 * sin(pi * x))^2 @ inside)'
	ranks_differ sum 'sum((d(u, x, x) + pi^2 * sin(pi * x))^2 @ inside)'
	ranks_differ turns 'mean((d(u, x, x) + k * sin(pi * x))^2 @ inside)' --set precision.compute=f64 \
		--set 'variables={k: 8}' --set objective.solve.train='[u]' \
		--set 'objective.number={train: [k], minimise: {k: "mean((k - x^2)^2 @ inside)"}, times: 2}'
	ranks_differ phases 'mean((d(u, x, x) + pi^2 * sin(pi * x))^2 @ inside)' --set precision.compute=f64 \
		--set 'objective.solve.optimizer=[{type: adam, steps: 10}, {type: lbfgs, steps: 10}]'
	within "$(value runs/mean-2 term/physics)" "$(value runs/mean-1 term/physics | awk '{ print $1 * 0.999999 }')" \
		"$(value runs/mean-1 term/physics | awk '{ print $1 * 1.000001 }')" "a term of two ranks"
	# shared STATUS TERM [TEXT]: whether two ranks train on it.
	shared() {
		expect "$1" on_ranks 2 "$train" --set run.dir=runs/shared --check --set 'variables={k: 2}' \
			--set 'model.let={most: "max(mean(u @ inside), 1)"}' --set "objective.solve.minimise={physics: '$2'}" poisson.yaml
		[ "$1" = 0 ] || says err "${3:-'$2'} is not linear in its means, which each of 2 ranks takes over its own share"
	}
	shared 78 'sqrt(mean(u^2 @ inside))'
	shared 78 'mean((u - mean(u))^2 @ inside)' "'(u - mean(u))^2'"
	shared 78 'mean(u @ inside) * mean(u @ walls)'
	shared 78 'k + 2 * most' "'most'"
	shared 0 'k^2 * mean(u^2 @ inside) / 3 - mean((u - mean(u)) @ inside) + sqrt(mean(u(0)^2))'
	expect 78 on_ranks 2 "$train" --set run.dir=runs/odd --set points.inside.count=63 poisson.yaml
	says err "'inside' has 63 points, which 2 ranks cannot share evenly; 64 can be"
fi

begin "mistakes"
# mistake STATUS TEXT SETTING...: what --check says of poisson.yaml with these.
mistake() {
	status=$1 text=$2
	shift 2
	expect "$status" "$train" --check "$@" poisson.yaml
	says err "$text"
}
physics='objective.solve.minimise.physics'
mistake 78 "--set:1:42: unknown name 'v'" --set "$physics=mean((d(v, x, x))^2 @ inside)"
says err '     |                                          ^'
mistake 78 "'walls' has no coordinate 'x', which 'u' takes; it has y" --set 'points.walls={box: {y: {ends: [0, 1]}}}'
mistake 78 "unknown set of points 'insid'; did you mean 'inside'?" --set "$physics=mean(u^2 @ insid)"
mistake 78 "'twice' is a let, which takes no arguments: 'twice(at.SET)' is its value at a set" --set 'model.let={twice: 2 * u}' \
	--set "$physics=mean(twice(0)^2)"
mistake 78 "'loss' has no meaning with 'objective'" --set loss=mse
mistake 78 "'batch_size' has no meaning with 'objective'" --set train.batch_size=4
mistake 78 "'train' has no meaning with 'objective'" --set data.train=poisson.dlx
mistake 78 "'accuracy' is no metric of networks of equations" --set 'metrics=[accuracy]'
mistake 78 "'k' is positive, and its 'start' is 0" --set 'variables={k: {start: 0, positive: true}}'
mistake 78 "'train' names 'v', which is neither a network nor a variable" --set 'objective.solve.train=[v]'
mistake 78 "'start' of 'k' is 2, which is not between its bounds 0 and 2" --set 'variables={k: {start: 2, bounds: [0, 2]}}'
mistake 78 "'bounds' of 'k' must be [LOW, HIGH]" --set 'variables={k: {start: 2, bounds: [3, 0]}}'
mistake 78 "'k' has 'bounds': leave out 'positive'" --set 'variables={k: {start: 2, bounds: [0, 3], positive: true}}'
mistake 78 "'(' is not closed; between '{' and '}' an expression that has a comma stands in quotes" \
	--set "$physics={of: mean(d(u, x)^2 @ inside), weight: 2}"
mistake 78 "nothing says how long to train; give 'train.steps'" --set train=
mistake 65 "'k.dlx' has no array of the name of a network to compare with" --set data.validation=k.dlx
mistake 65 "does not say 't' of its points" --set 'model.networks.u.inputs=[x, t]' \
	--set 'points={inside: {box: {x: [-1, 1], t: [0, 1]}, count: 64}, walls: {box: {x: {ends: [-1, 1]}, t: [0, 1]}, count: 8}}'
expect 78 "$train" --set run.dir=runs/poisson --dump-step step poisson.yaml
says err "of networks that solve equations is not there yet"
mistake 66 "cannot open 'nothing.dlx'" --set data.validation=nothing.dlx

begin "on a grid"
# grid TEXT FILE
grid() {
	expect 0 "$train" --quiet --predict "$1" -o "$2" --set run.dir=runs/poisson poisson.yaml
}
grid 'grid: {x: 5}' u.csv
awk -F, 'NR == 1 { bad = $0 != "x,u" }
	NR > 1 { d = $2 - sin(3.14159265358979 * $1); bad += d * d > 1e-4 || $1 != -1 + (NR - 2) / 2 }
	END { exit bad || NR != 6 }' u.csv || fail "the network on a grid: $(cat u.csv)"
grid 'grid: {x: [0, 0.5, 2049]}' u.npy
[ "$(wc -c <u.npy)" -eq $((128 + 4 * 2049)) ] || fail "a grid of 2049 points has $(wc -c <u.npy) bytes"
grid 'grid: {x: 11}' u.nc
expect 0 "$DLX_BUILD/dlx-convert" --quiet --input u.nc:u -o u.dlx

begin "at the points of a record, and drawn"
# At the points of a record, and drawn: the network, the known values, the difference.
grid poisson.dlx points.csv
awk -F, 'NR == 1 { bad = $0 != "x,u,u_known,u_error" }
	NR > 1 { known = $3 - sin(3.14159265358979 * $1); error = $2 - $3 - $4
		bad += $4 * $4 > 1e-4 || known * known > 1e-12 || error * error > 1e-12 }
	END { exit bad || NR != 202 }' points.csv || fail "the network at the points of a record: $(head -n 3 points.csv)"
grid '{record: poisson.dlx}' keys.csv
cmp points.csv keys.csv || fail "a record has other points with its key"
grid poisson.dlx points.nc
grid 'grid: {x: 101}' u.svg
for word in network known difference '>-0.5<'; do
	grep -q -e "$word" u.svg || fail "the drawing has no '$word'"
done
grid 'grid: {x: 101}' u.png
[ "$(od -A n -t u1 -j 16 -N 8 u.png | tr -s ' ')" = " 0 0 6 64 0 0 2 48" ] || fail "not 1600 x 560 pixels: $(od -A n -t u1 -j 16 -N 8 u.png)"
for wrong in 'y: 5|is no coordinate' 'x: 0|must be a number of points' 'x: 5, y: 5|which names each coordinate once'; do
	expect 64 "$train" --predict "grid: {${wrong%|*}}" -o u.csv --set run.dir=runs/poisson poisson.yaml
	says err "${wrong#*|}"
done
expect 64 "$train" --predict 'grid: {x: 5}, seed: 1' -o u.csv --set run.dir=runs/poisson poisson.yaml
says err "'realizations', 'seed' and 'samples' are of networks that take noise, and these take none"
expect 64 "$train" --predict 'grid: {x: 5}, sensors: u' -o u.csv --set run.dir=runs/poisson poisson.yaml
says err "'sensors' are those of a 'record'"
expect 64 "$train" --predict 'grid: {x: 5}' -o u.npz --set run.dir=runs/poisson poisson.yaml
says err "networks of equations are written as .nc, .h5, .npy or .csv, and drawn as .png or .svg"
expect 64 "$train" --predict poisson.dlx -o points.png --set run.dir=runs/poisson poisson.yaml
says err "a picture is of a grid"
expect 64 "$train" --predict 'grid: {x: [0, 0, 1]}' -o u.png --set run.dir=runs/poisson poisson.yaml
says err "a picture is of a grid with one or two axes of several points, and this has 0"

begin "phases"
# L-BFGS after Adam, stopped and resumed within the search, ends with the bits of a run that went on.
phases='objective.solve.optimizer=[{type: adam, learning_rate: 0.002, steps: 300}, {type: lbfgs, steps: 700}]'
run phases --set "$phases" --set train= poisson.yaml
run stopped --set "$phases" --set train.steps=600 poisson.yaml
run stopped --resume --set "$phases" --set train.steps=1000 poisson.yaml
[ "$(newest_state runs/phases)" = "$(newest_state runs/stopped)" ] || fail "a search that is resumed takes another course"
within "$(value runs/phases relative_l2)" 0 0.001 "the error after Adam and L-BFGS"
mistake 78 "a phase of 'optimizer' that others follow needs 'steps'" \
	--set 'objective.solve.optimizer=[adam, {type: lbfgs}]'
mistake 78 "one phase of 'optimizer' averages weights and another does not; all have to, and 'lbfgs' cannot" \
	--set 'objective.solve.optimizer=[{type: adam, average: 0.9, steps: 5}, {type: lbfgs, steps: 5}]'
mistake 78 "'lbfgs' is the last phase" \
	--set 'objective.solve.optimizer=[{type: lbfgs, steps: 5}, {type: adam, steps: 5}]'

begin "configs and documents"
# snapshots KIND OPTION...: few realizations, which configs of GANs train on and are compared with.
snapshots() {
	for file in snapshots truth; do
		expect 0 "$field" "$@" --quiet -n 300 -o $file.dlx
	done
}
snapshots elliptic --u-sensors 2 --k-sensors 13 --f-sensors 21
for config in "$DLX_SOURCE"/configs/physics/*.yaml; do
	[ "$(wc -l <"$config")" -le 30 ] || fail "$config has more than 30 lines"
	run "$(basename "$config")" --set train.steps=2 --set report.progress=none "$config"
	[ "$(value "runs/$(basename "$config")" '[rs][a-z]*_l2')$(value "runs/$(basename "$config")" term/error)" ] ||
		fail "$config is compared with nothing"
done
config=$DLX_SOURCE/configs/physics/burgers.yaml
expect 65 "$train" --predict poisson.dlx -o u.csv --set run.dir=runs/burgers.yaml "$config"
says err "'poisson.dlx' does not say 't' of its points"
expect 0 "$train" --predict 'grid: {t: 11, x: 21}' -o u.png --set run.dir=runs/burgers.yaml "$config"
[ "$(od -A n -t u1 -j 16 -N 8 u.png | tr -s ' ')" = " 0 0 9 96 0 0 2 48" ] || fail "a picture of three maps is not 2400 x 560 pixels"
ln -s "$DLX_SOURCE/configs" configs
if big; then
	expect 0 "$DLX_SOURCE/data-tools/demo/demo_burgers.sh" "$DLX_BUILD"
	within "$(value runs/burgers relative_l2)" 0 0.005 "the error of the demo"
else
	expect 0 "$DLX_SOURCE/data-tools/demo/demo_burgers.sh" "$DLX_BUILD" --quiet --set train.steps=2 --set train.validate.steps=1
fi
[ -s runs/burgers/u.png ] || fail "the demo draws nothing"
# Configs of the page begin with "run:"; other blocks are parts.
awk '
/^\.Ed/ { inside = 0 }
inside && first { whole = /^run:/; message = /^dlx-train: /; n += whole; first = 0 }
inside && whole { print >("page" n ".yaml") }
inside && message { print >"message" }
/^\.Bd -literal/ { inside = first = 1 }' "$DLX_SOURCE/man/dlx-physics.7"
[ -s page4.yaml ] || fail "dlx-physics.7 has lost its configs"
snapshots stochastic-poisson --f-sensors 17
for config in page*.yaml; do
	run "$config" --set train.steps=2 --set report.progress=none "$config"
done
# The critic of the page reads 17 numbers at a time.
expect 0 "$train" --plan "$(grep -l random-poisson page*.yaml)"
says out 'networks: 9,537 parameters'
sed 's/d(u, x, x)/d(v, x, x)/' page1.yaml >page.yaml
expect 78 "$train" --check page.yaml
diff message err || fail "dlx-physics.7 shows another error message than the program's"
pass
