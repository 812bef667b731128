#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Several networks of layers on samples: an autoencoder with two losses, student and teacher, a DeepONet and shared parameters,
# against NumPy in float64; predictions and metrics of samples; weights of single networks; the mistakes that such configs have.
. "${DLX_SOURCE:?}/test/lib.sh"
export OMP_NUM_THREADS=1
find_numpy

begin "losses, weights and running statistics"
reference() {
	"$python3" "$DLX_SOURCE/test/train/several_networks.py" "$@" || fail "several_networks.py $*"
}
reference
expect 0 "$convert" --quiet --input image.npy --target label.npy -o data.dlx

common='points: {all: {samples: data.dlx}}
optimizer: {type: sgd, learning_rate: 0.05}
schedule: constant
train: {steps: 4}
report: {progress: none, every: 1}'

# The running statistics are those of the first place at which the encoder is evaluated.
cat >autoencoder.yaml <<END
run: {name: autoencoder}
model:
  family: networks
  init_from: autoencoder.safetensors
  networks:
    encoder:
      inputs: [input]
      layers:
        - conv2d: {name: down, filters: 2, kernel: 3, stride: 2, padding: same, bias: false}
        - batch_norm: {name: norm}
        - tanh
        - flatten
        - dense: {name: code, units: 3}
    decoder: {inputs: [encoder], dense: [5], outputs: 64}
objective:
  fit:
    minimise:
      image: mean((decoder - input)^2 @ all)
      code: {of: mean(encoder^2 @ all), weight: 0.1}
      half: {of: mean((encoder - encoder(0.5 * input))^2 @ all), weight: 0.2}
      seen: {of: mean(norm(encoder) @ all), weight: 0}
$common
END

begin "a teacher that nothing trains"
cat >student.yaml <<END
run: {name: student}
model:
  family: networks
  networks:
    teacher:
      inputs: [input]
      layers: [flatten, {dense: {name: first, units: 6}}, {batch_norm: {name: norm}}, tanh, {dense: {name: last, units: 2}}]
      init_from: {file: student.safetensors, network: big}
    student: {inputs: [input], dense: [4], outputs: 2, init_from: student.safetensors}
objective:
  learn:
    train: [student]
    minimise:
      teacher: mean((student - teacher)^2 @ all)
      data: {of: mean((student - target)^2 @ all), weight: 0.5}
$common
END

begin "a network without parameters of its own; a let as an input; a file of one network"
cat >operator.yaml <<END
run: {name: operator}
model:
  family: networks
  networks:
    branch: {inputs: [input], dense: [4], outputs: 3, init_from: operator.safetensors}
    trunk: {inputs: [place], dense: [5], outputs: 3, init_from: trunk.safetensors}
    twin: {inputs: [input], input: input^2, output: 2 * net, same_as: branch}
  let: {place: "target[0]", value: "dot(branch, trunk)"}
objective:
  learn:
    train: [twin, trunk]
    minimise:
      data: mean((dot(branch, trunk) - target[1])^2 @ all)
      twin: {of: mean(twin @ all), weight: 0.1}
$common
END
for case in autoencoder student operator; do
	reference $case
	expect 0 "$train" $case.yaml
	expect 0 "$train" --quiet --export $case-trained.safetensors $case.yaml
	reference $case runs/$case $case-trained.safetensors
done

begin "validation and prediction, in pieces of 5 of the 12 samples"
# samples CASE NAME KNOWN ARRAY: what --predict and --evaluate make of it, compared as `data` says.
samples() {
	compare="data={validation: data.dlx, compare: {$2: '$3'}}"
	set -- "$1" "$2" "$4" --set "$compare" --set 'metrics=[relative_l2, max_error, mae, mse, rmse]' \
		--set 'points.all={samples: data.dlx, count: 5}' "$1.yaml"
	case=$1 name=$2 known=$3
	shift 3
	expect 0 "$train" --quiet --predict data.dlx -o $case.npz "$@"
	expect 0 "$train" --quiet --evaluate --json "$@"
	cp out evaluation
	reference check $case $case-trained.safetensors $case.npz evaluation $name $known
}
samples autoencoder decoder input image
samples operator value 'record.target[1]' 1
expect 0 "$train" --quiet --predict 'record: data.dlx, network: encoder' -o encoder.npy autoencoder.yaml
says encoder.npy "'shape': (12, 3,)"
expect 0 "$train" --quiet --predict 'record: data.dlx, network: [encoder, decoder]' -o both.csv autoencoder.yaml
[ "$(wc -l <both.csv)" = 13 ] && [ "$(head -n 1 both.csv | tr , '\n' | wc -l)" = 68 ] || fail "a table is not a line for each sample"
expect 0 "$train" --quiet --predict data.dlx -o all.nc autoencoder.yaml
# A record need not have what networks are compared with, and training prints and keeps what is best of it.
expect 0 "$convert" --quiet --input image.npy -o images.dlx
expect 0 "$train" --quiet --predict images.dlx -o alone.npz --set "data={validation: data.dlx, compare: {decoder: 'target[0] * input'}}" autoencoder.yaml
expect 0 "$train" --set run.dir=runs/validated --set 'data={validation: data.dlx, compare: {decoder: input}}' --set 'metrics=[relative_l2]' \
	--set train.validate.steps=2 autoencoder.yaml
[ "$(grep -c '"relative_l2"' runs/validated/metrics.jsonl)" -ge 2 ] || fail "training does not validate"
# An array of a network's name needs no 'compare'.
cat >named.yaml <<END
run: {name: named}
model: {family: networks, networks: {target: {inputs: [input], dense: [4], outputs: 2}}}
objective: {learn: {minimise: {data: mean((target - all.target)^2 @ all)}}}
data: {validation: data.dlx}
metrics: [relative_l2]
$common
END
expect 0 "$train" named.yaml
expect 0 "$train" --quiet --evaluate --json named.yaml
cp out one
expect 0 "$train" --quiet --evaluate --json --set 'data.compare={target: record.target}' named.yaml
[ "$(cat one)" = "$(cat out)" ] || fail "an array of the network's name is another one: $(cat one out)"

begin "one network by itself"
expect 0 "$train" --quiet --export student.one --network student student.yaml
cat >one.yaml <<'END'
run: {name: one}
model:
  family: layers
  layers: [flatten, {dense: {name: dense_0, units: 4, activation: tanh}}, {dense: {name: dense_1, units: 2}}]
  init_from: student.one
data: {train: data.dlx}
loss: mse
optimizer: {type: sgd, learning_rate: 0.1}
train: {epochs: 1, batch_size: 4}
END
expect 0 "$train" --quiet --export again.one one.yaml
tail -c 1000 student.one >student.tail
tail -c 1000 again.one | cmp - student.tail || fail "a network that is exported alone has other weights"
expect 64 "$train" --export student.one --network studen student.yaml
says err "there is no network 'studen'; did you mean 'student'?"
expect 64 "$train" --network student student.yaml
says err "'--network' goes with '--export'"

begin "mistakes"
# mistake CONFIG TEXT SETTING...: what --check says of it with these.
mistake() {
	config=$1 text=$2
	shift 2
	expect 78 "$train" --check "$@" $config.yaml
	says err "$text"
}
networks='model.networks'
mistake student "'teacher' has no layers: expected 'dense', 'layers' or 'same_as'" --set "$networks.teacher={inputs: [input]}"
mistake student "'layers' does not go with 'dense'" --set "$networks.student.layers=[flatten]"
mistake student "'outputs' goes with 'dense' alone, and network 'teacher' has 'layers'" --set "$networks.teacher.outputs=2"
mistake student "'shape' of network 'teacher' says 1x8, which is 8 values, and its inputs have 64" \
	--set "$networks.teacher.shape=[1, 8]"
mistake student "input 'inpt' of network 'teacher' is nothing here; did you mean 'input'?" --set "$networks.teacher.inputs=[inpt]"
mistake student "samples of 1x8x8 and of 2, which are not of the same places" --set "$networks.teacher.inputs=[input, target]"
mistake student "the points of the set 'all' are samples of a record, which have no coordinates" \
	--set "objective.learn.minimise.data=mean(laplacian(student) @ all)"
mistake student "'input' is no coordinate: nothing can be derived by it" \
	--set 'objective.learn.minimise.data=mean(d(student[0], input) @ all)'
mistake student "'draw' does not go with 'samples', which has the points of 'all'" --set 'points.all={samples: data.dlx, draw: grid}'
mistake operator "'twin' has the parameters of another network, where 'init_from' belongs" \
	--set "$networks.twin.init_from=operator.safetensors"
mistake operator "names no network 'branc'; did you mean 'branch'?" --set "$networks.twin.same_as=branc"
mistake operator "'twin' has no parameters of its own: write 'same_as: branch'" --set "$networks.trunk={inputs: [place], same_as: twin}"
mistake operator "whose first layer reads 64 values, but its own inputs have 2" \
	--set "$networks.twin={inputs: [target], same_as: branch}"
mistake autoencoder "'encoder' cannot be derived: its batch_norm makes points depend on each other" \
	--set "$networks.encoder.inputs=[x]" --set "$networks.encoder.shape=[1, 1, 1]" --set "$networks.decoder.outputs=1" \
	--set 'points.all={box: {x: [0, 1]}, count: 4}' --set 'objective.fit={minimise: {a: "mean(d(encoder[0], x) @ all)"}}'
mistake autoencoder "and 'encoder' has batch_norm; layer_norm is possible" \
	--set "$networks.encoder.layers=[batch_norm, flatten, dense: 1]" \
	--set 'objective.fit={minimise: {a: "penalty(encoder, input @ all, 2 * input @ all)"}}'
mistake autoencoder "'slope' needs a critic whose samples do not depend on each other" \
	--set "$networks.encoder.layers=[batch_norm, flatten, dense: 1]" \
	--set 'objective.fit={minimise: {a: "mean(slope(encoder, input @ all))"}}'
mistake autoencoder "all terms of objective 'fit' have weight 0" --set 'objective.fit.minimise={a: {of: mean(encoder @ all), weight: 0}}'
expect 65 "$train" --check --set data.validation=data.dlx autoencoder.yaml
says err "no array of the name of a network to compare with; 'compare' in 'data' says which one is, such as 'compare: {decoder: input}'"
compares() {
	what=$1 text=$2
	shift 2
	mistake autoencoder "$text" --set "data={validation: data.dlx, compare: $what}" "$@"
}
compares '{encoder: input}' "'encoder' has 3 values for a sample, and what it is compared with has 64"
compares '{decodr: input}' "'decodr' is neither a network nor a name of 'let'; did you mean 'decoder'?"
compares '{decoder: inpt}' "unknown name 'inpt'; did you mean 'input'?"
compares '{decoder: mean(input)}' "is one number"
compares decoder "'compare' must be a map of networks to arrays of 'validation'"
compares '{decoder: input}' "'ks' is no metric of networks of equations" --set 'metrics=[ks]'
mistake autoencoder "'compare' is with arrays of 'data.validation', which is not given" --set 'data={compare: {decoder: input}}'
mistake one "'compare' is for the networks of 'objective'" --set 'data.compare={a: b}'
expect 0 "$convert" --quiet --input label.npy -o label.dlx
expect 78 "$train" --predict label.dlx -o u.npz autoencoder.yaml
says err "'input' has 2 values in 'label.dlx' and 64 in another set"
expect 65 "$train" --predict images.dlx -o u.npz --set 'model.networks={a: {inputs: [target], dense: [4]}}' \
	--set 'objective={learn: {minimise: {data: mean(a^2 @ all)}}}' named.yaml
says err "no network can be evaluated for the samples of 'images.dlx', whose arrays are input; inputs are target of 'a'"
mistake named "the set 'record' has no array 'target'" --set 'data={validation: images.dlx, compare: {target: record.target}}'
mistake autoencoder "'data.dlx' has 12 samples, and a draw of 'all' has 13" --set points.all.count=13
# predicts REQUEST FILE TEXT [CONFIG]: how it is refused.
predicts() {
	expect 64 "$train" --quiet --predict "$1" -o "$2" "${4:-autoencoder}.yaml"
	says err "$3"
}
predicts 'grid: {x: 3}' u.npy "networks of samples are evaluated for 'record: FILE'"
predicts 'grid: {}' u.npy "no network is a function of noise alone; 'record: FILE' has the samples that networks take"
predicts data.dlx u.npy "a file .npy has the values of one of encoder, decoder: say which"
predicts data.dlx u.png "values of samples are written as .nc, .h5, .npz, .npy or .csv"
predicts 'record: data.dlx, network: decodr' u.npy "'decodr' is no network that can be evaluated here; did you mean 'decoder'?"
predicts 'record: data.dlx, seed: 3' u.npz "are of networks that take noise, and these take none"
predicts 'record: data.dlx, sensors: u' u.npz "'sensors' are of points"
expect 66 "$train" --predict 'record: nothing.dlx' -o u.npz autoencoder.yaml
says err "'nothing.dlx'"

begin "draws, stops"
resampled='points.all={samples: data.dlx, count: 4, resample: 1}'
expect 0 "$train" --set run.dir=runs/whole --set "$resampled" --set train.steps=7 autoencoder.yaml
expect 0 "$train" --set run.dir=runs/stopped --set "$resampled" --set train.steps=3 autoencoder.yaml
expect 0 "$train" --set run.dir=runs/stopped --set "$resampled" --set train.steps=7 --resume autoencoder.yaml
[ "$(newest_state runs/whole)" = "$(newest_state runs/stopped)" ] || fail "a stop changes the bits"

begin "a generator of images from noise"
# A sample is a realization.
cat >images.yaml <<'END'
run: {name: images}
model:
  family: networks
  noise: {z: 5}
  networks:
    seed: {inputs: [z], dense: [8], outputs: 16}
    fake: {inputs: [seed], shape: [4, 2, 2], layers: [layer_norm, tanh, conv_transpose2d: {filters: 1, kernel: 4, stride: 4}]}
    critic: {inputs: [image], shape: [1, 8, 8], layers: [conv2d: {filters: 4, kernel: 3, stride: 2}, leaky_relu, flatten, dense: 1]}
points: {all: {samples: data.dlx, count: 4, resample: 1}}
objective:
  critic: {train: critic, times: 2, minimise: {w: "mean(max(0, 1 - critic(input)) @ all) + mean(max(0, 1 + critic(fake)) @ all)"}}
  generator: {train: [seed, fake], minimise: {w: -mean(critic(fake) @ all)}}
optimizer: {type: adam, learning_rate: 0.01}
train: {steps: 15}
report: {progress: none, every: 1}
END
expect 0 "$train" images.yaml
expect 0 "$train" --set run.dir=runs/half --set train.steps=7 images.yaml
expect 0 "$train" --set run.dir=runs/half --resume images.yaml
[ "$(newest_state runs/images)" = "$(newest_state runs/half)" ] || fail "images of noise: a stop changes the bits"
if has_ranks; then
	expect 0 on_ranks 2 "$train" --set run.dir=runs/two images.yaml
	losses_of runs/images >one
	losses_of runs/two | paste one - | awk '{ d = $2 - $4; if (d > 1e-5 || d < -1e-5) { print "step " NR ": " $2 " and " $4; bad = 1 } }
		END { exit bad || NR < 15 }' || fail "two ranks have other losses than one"
fi
expect 0 "$train" --quiet --predict 'grid: {}, realizations: 3, samples: true, network: fake' -o fake.npy images.yaml
says fake.npy "'shape': (3, 1, 8, 8,)"
expect 0 "$train" --quiet --predict 'grid: {}, realizations: 3, network: fake' -o fake.npy images.yaml
says fake.npy "'shape': (4, 1, 8, 8,)"
expect 0 "$train" --quiet --predict data.dlx -o fake.npz images.yaml
# What a generator draws has the law of the samples, not their values.
fakes='data={validation: data.dlx, compare: {fake: input}}'
expect 0 "$train" --quiet --evaluate --json --set "$fakes" --set 'metrics=[mean_l2, std_l2, ks]' images.yaml
says out '"ks": '
mistake images "'mae' compares sample by sample, and 'fake' is a function of noise alone" --set "$fakes" --set 'metrics=[mae, ks]'
predicts 'record: data.dlx, realizations: 3' u.npz "'realizations' goes with 'grid: {}'" images
predicts 'grid: {x: 3}' u.npz "those of noise alone on 'grid: {}'" images
predicts 'grid: {}, samples: true' u.npy "a file .npy has the values of one of seed, fake" images
pass
