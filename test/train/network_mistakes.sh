#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Mistakes in configs of several networks: each a change of one of two configs, and the place and the text that --check gives.
. "${DLX_SOURCE:?}/test/lib.sh"
export OMP_NUM_THREADS=1
expect 0 "$DLX_BUILD/dlx-field" gaussian --quiet -n 8 --points 16,16 -o fields.dlx
expect 0 "$DLX_BUILD/dlx-field" gaussian --quiet -n 8 --points 8,8 -o small.dlx

cat >codes.yaml <<'END_CONFIG'
run: {name: codes}
model:
  family: networks
  networks:
    encoder:
      inputs: [k]
      layers:
        - conv2d: {filters: 4, kernel: 3, stride: 2, padding: same}
        - flatten
        - dense: 8
    decoder: {inputs: [encoder], dense: [32], outputs: 256}
points:
  batch: {samples: fields.dlx, count: 4, resample: 1}
objective:
  fit:
    minimise:
      field: mean((decoder - k)^2 @ batch)
      code: {of: mean(encoder^2 @ batch), weight: 0.001}
optimizer: {type: adam, learning_rate: 0.002}
train: {steps: 2}
report: {progress: none}
END_CONFIG
cat >images.yaml <<'END_CONFIG'
run: {name: images}
model:
  family: networks
  noise: {z: 6}
  networks:
    seed: {inputs: [z], dense: [16], outputs: 32}
    fake: {inputs: [seed], shape: [2, 4, 4], layers: [conv_transpose2d: {filters: 1, kernel: 4, stride: 4}]}
    critic: {inputs: [image], shape: [1, 16, 16], layers: [conv2d: {filters: 2, kernel: 4, stride: 4}, relu, flatten, dense: 1]}
points:
  batch: {samples: fields.dlx, count: 4, resample: 1}
objective:
  critic: {train: critic, minimise: {w: mean(critic(fake) @ batch) - mean(critic(k) @ batch)}}
  generator: {train: [seed, fake], minimise: {w: -mean(critic(fake) @ batch)}}
optimizer: {type: rmsprop, learning_rate: 0.001}
train: {steps: 4}
report: {progress: none}
END_CONFIG
for config in codes images; do
	expect 0 "$train" --check $config.yaml
	[ "$(grep -c warning err)" -eq 0 ] || fail "$config.yaml is warned of"
done

# Lines: CONFIG | sed's command | STATUS | LINE:COLUMN: TEXT
while IFS='|' read -r config change status text; do
	[ -n "$config" ] || continue
	sed "$change" "$config.yaml" >wrong.yaml
	! cmp -s "$config.yaml" wrong.yaml || fail "nothing is changed by $change"
	expect "$status" "$train" --check wrong.yaml
	says err "wrong.yaml:$text"
	[ "$status" -eq 0 ] || grep -q '\^' err || fail "no caret: $change"
done <<'END_LIST'
codes|s/\[k\]/[kk]/|78|6:16: input 'kk' of network 'encoder' is nothing here; the sets have k
codes|s/\[k\]/[k, k]/|78|6:19: 'k' is an input twice: leave one of them out
codes|s/\[k\]/k, x/|78|6:15: 'k, x' is no name of an input; several are a list, 'inputs: [k, x]'
codes|s/\[k\]/[]/|78|5:5: network 'encoder' has no inputs
codes|s/\[k\]/[decoder]/|78|11:24: 'encoder' is defined by itself: 'decoder' takes it as an input
codes|s/\[k\]/[encoder]/|78|6:16: 'encoder' is defined by itself: 'encoder' takes it as an input
codes|s/decoder - k/decodr - k/|78|17:20: unknown name 'decodr'; did you mean 'decoder'?
codes|s/: 256/: 255/|78|17:28: 'decoder' has 255 components, 'k' has 256
codes|s/(decoder - k)/(decoder(k) - k)/|78|17:28: 'decoder' takes 8 components as 'encoder', but 'k' has 256
codes|s/(decoder - k)/(decoder(k, k) - k)/|78|17:20: 'decoder' takes 1 input, encoder, but is given 2
codes|s/k)^2 @ batch/k)^2/|78|17:20: 'decoder' is a value at points, and nothing says at which: write 'e @ SET'; there are batch
codes|s/k)^2 @ batch/k)^2 @ bach/|78|17:37: unknown set of points 'bach'; did you mean 'batch'?
codes|s/decoder - k/decoder - batch.kk/|78|17:36: the set 'batch' has no array 'kk'
codes|s/k)^2 @ batch)/k)^2 @ batch/|78|17:18: '(' is not closed
codes|s/ fit:/ fit: {train: [encodr], minimise: {a: mean(k @ batch)}}\n  more:/|78|15:17: 'train' names 'encodr', which is neither a network nor a variable; did you mean 'encoder'?
codes|s/ fit:/ fit: {train: "encoder, decoder", minimise: {a: mean(k @ batch)}}\n  more:/|78|15:16: 'train' names 'encoder, decoder'; several names are a list, 'train: [encoder, decoder]'
codes|s/^    minimise/    train: encoder\n    minimise/|0|11:5: no objective trains network 'decoder', which keeps its first random weights
codes|s/minimise/minimize/|78|16:5: unknown key 'minimize' in objective 'fit'; did you mean 'minimise'?
codes|/^  fit/d;s/^    minimise/  minimise/|78|15:3: an objective has a name: 'objective: {NAME: {minimise: ...}}'
codes|/^objective/,/code:/d|78|3:11: missing key 'objective': what the networks of 'family: networks' minimise
codes|/^points/,/^  batch/d|78|12:1: missing key 'points': where the objective holds
codes|s/0.001}/-1}/|78|18:51: 'weight' is out of range: -1, must be a number of at least 0
codes|s/, weight/, wieght/|78|18:43: unknown key 'wieght' in term 'code'; did you mean 'weight'?
codes|s/^optimizer.*/optimizer: {type: lbfgs, steps: 9}/|78|19:19: unknown type 'lbfgs' for 'optimizer'; L-BFGS trains networks of equations, in the last phase
codes|s/steps: 2/epochs: 2/|78|20:9: 'epochs' has no meaning with 'objective'
codes|s/^points/loss: mse\npoints/|78|12:1: 'loss' has no meaning with 'objective'
codes|s/samples: fields/samples: nothing/|66|13:3: cannot open 'nothing.dlx'
codes|s/samples: fields/record: fields/|78|8:11: 'conv2d' needs an input (N, C, H, W), but gets 2x1
codes|s/count: 4/count: 9/|78|13:3: 'fields.dlx' has 8 samples, and a draw of 'batch' has 9
codes|s/resample: 1/realizations: 4/|78|13:42: 'realizations' does not go with 'samples'
codes|s/^  batch/  other: {samples: small.dlx}\n  batch/|78|14:3: 'k' has 256 values in 'fields.dlx' and 64 in another set
codes|s/kernel: 3/kernel: 19/;s/same/valid/|78|8:11: 'conv' of 2x1x16x16 and 4x1x19x19: the kernel covers 19 elements
codes|/- flatten/d|78|9:11: 'encoder.dense_0': a dense layer needs (N, features)
codes|s/layers:/layer:/|78|7:7: unknown key 'layer' in network 'encoder'; did you mean 'layers'?
codes|s/dense: \[32\]/layers: [flatten]/|78|11:53: 'outputs' goes with 'dense' alone, and network 'decoder' has 'layers'
codes|s/dense: \[32\], outputs: 256/same_as: encodr/|78|11:43: 'same_as' of 'decoder' names no network 'encodr'; did you mean 'encoder'?
codes|s/inputs: \[encoder\],/inputs: [encoder], init_from: nothing.safetensors,/|66|11:5: cannot open 'nothing.safetensors'
images|s/z: 6/z: 0/|78|4:14: 'components' is out of range: 0, must be an integer from 1 to 65536
images|s/z: 6/fake: 6/|78|4:11: 'fake' is the name of something else, too
images|s/z: 6/zz: 6/|78|12:53: 'seed' needs its input: write 'seed(...)', for there is nothing named 'z'
images|s/1, 16, 16/1, 8, 8/|78|12:53: 'critic' takes 64 components as 'image', but 'fake' has 256
images|s/, shape: \[1, 16, 16\]//|78|8:23: input 'image' of network 'critic' is nothing here; the sets have k
images|s/2, 4, 4/2, 4, 5/|78|7:5: 'shape' of network 'fake' says 2x4x5, which is 40 values, and its inputs have 32
images|s/train: critic,/train: critic, optimizer: {type: lbfgs},/|78|12:64: 'lbfgs' does not train 'critic': its terms have random numbers
END_LIST
pass
