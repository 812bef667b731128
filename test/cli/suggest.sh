#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The first config for records of each kind: it is valid, trains as it is, and says what the data is; what is refused. In the long
# form it beats its linear config on the small examples.
# limit: 15 minutes
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
find_numpy

"$python3" - <<'END' || fail "no data"
import numpy as np

rng = np.random.default_rng(1)
for name, shape in ("table", (60, 7)), ("series", (60, 2, 40)), ("pictures", (60, 3, 20, 18)), ("fields", (24, 2, 21, 34)), ("volumes", (8, 1, 16, 16, 16)), ("thin", (60, 1, 5, 40)):
    np.save(name + ".npy", rng.normal(size=shape).astype("f4"))
np.save("class.npy", (np.arange(60) % 3).astype("u1"))
np.save("rare.npy", (np.arange(60) % 20 == 0).astype("u1"))
np.save("values.npy", rng.normal(size=(60, 2)).astype("f4"))
np.save("holes.npy", np.where(rng.random((60, 1)) < 0.3, np.nan, 1).astype("f4"))
np.save("map.npy", rng.integers(0, 3, (24, 21, 34)).astype("u1"))
np.save("field.npy", rng.normal(size=(24, 1, 21, 34)).astype("f4"))
np.save("organs.npy", rng.integers(0, 2, (8, 16, 16, 16)).astype("u1"))
np.save("one.npy", np.zeros(60, "u1"))
END

# suggested INPUT TARGET WORDS: the config says WORDS, is valid, and trains; so does the linear one.
suggested() {
	rm -rf ./*.yaml runs
	expect 0 "$convert" -q -i "$1.npy" -t "$2.npy" --input-layout first --fill nan ${4-} -o data.dlx
	expect 0 "$train" --suggest data.dlx data.dlx -o net.yaml
	says out "$3"
	for config in net net-linear; do
		expect 0 "$train" --check $config.yaml
		expect 0 "$train" --quiet --set train.epochs=1 $config.yaml
		expect 0 "$train" --quiet --evaluate runs/$config
	done
}
suggested table class '60 samples of 7 numbers: which of 3 classes each is of'
says net.yaml 'softmax_cross_entropy'
suggested table values '60 samples of 7 numbers: 2 values of each'
suggested table holes '1 value of each'
says net.yaml 'mask: nan'
suggested series class 'of 2 channels of 40: which of 3 classes each'
suggested pictures rare 'of 3 channels of 20 x 18: which of 2 classes each'
says net.yaml 'inverse_sqrt_frequency'
suggested pictures values '2 values of each'
suggested thin class 'of 1 channel of 5 x 40'
suggested fields map 'which of 3 classes each point is of'
says net.yaml 'crop: {size: [20, 32]}'
suggested fields field '1 value of each point'
suggested volumes organs 'of 1 channel of 16 x 16 x 16: which of 2 classes each point'

begin "weights of torchvision: as a comment, which is valid"
"$python3" -c 'import numpy as np
np.save("colours.npy", np.random.default_rng(1).integers(0, 255, (60, 3, 33, 32)).astype("u1"))'
expect 0 "$convert" -q -i colours.npy -t class.npy --input-layout first -o data.dlx
rm -f ./*.yaml
cat >resnet.yaml <<'END'
run: {name: resnet}
model: {family: resnet, depth: 18}
data: {train: data.dlx, transforms: [cast]}
loss: softmax_cross_entropy
optimizer: sgd
train: {steps: 1, batch_size: 2}
END
expect 0 "$train" --quiet resnet.yaml
expect 0 "$train" --export resnet18-f37072fd.safetensors resnet.yaml
expect 0 "$train" --suggest data.dlx data.dlx -o net.yaml
sed -e '/^  family: layers/d; s/^  # \(family\|depth\|init_from\)/  \1/; /^  layers:/,/^    - dense/d; s/^  # - /    - /; /^    - normalize: standard/d' \
	net.yaml | awk '/^    - (cast|normalize)/ { moved = moved $0 "\n"; next } { print } /^  transforms:/ { printf "%s", moved }' >begin.yaml
expect 0 "$train" --check begin.yaml
says err "'resnet18-f37072fd.safetensors'"
says begin.yaml '    - cast'
mkdir -p torch/hub/checkpoints
mv resnet18-f37072fd.safetensors torch/hub/checkpoints/resnet18-f37072fd.pth
expect 0 env TORCH_HOME="$PWD/torch" "$train" --suggest data.dlx data.dlx -o cached.yaml
says cached.yaml "torch.load('$PWD/torch/hub/checkpoints/resnet18-f37072fd.pth')"
expect 0 env HOME="$PWD" "$train" --suggest data.dlx data.dlx -o none.yaml
! grep resnet none.yaml || fail "a ResNet whose weights are not there"

begin "one record alone; what is there stays; what there is no suggestion for"
rm -f ./*.yaml
expect 0 "$train" --suggest data.dlx
says config.yaml '# validation: FILE.dlx'
expect 0 "$train" --check config.yaml
expect 64 "$train" --suggest data.dlx
says err "'config.yaml' is there: '-o FILE.yaml' names another one"
expect 64 "$train" --suggest data.dlx -o config.json
expect 64 "$train" --suggest data.dlx data.dlx data.dlx -o a.yaml
expect 66 "$train" --suggest none.dlx -o a.yaml

begin "files that are no records"
rm config.yaml config-linear.yaml
expect 0 "$train" --suggest 'table.npy' 'class.npy'
says out "dlx-convert -i table.npy -t class.npy --split train=0.8,validation=0.2 -o config.dlx"
cp out commands
expect 0 "$train" --suggest table.npy class.npy -o own.yaml
says out "dlx-convert -i table.npy -t class.npy --split train=0.8,validation=0.2 -o own.dlx"
says out '48 samples of 7 numbers: which of 3 classes each is of'
for config in own own-linear; do expect 0 "$train" --quiet --set train.epochs=1 $config.yaml; done
(PATH=$DLX_BUILD:$PATH && set -e && . ./commands) >out 2>&1 || { cat out; fail "the commands do not work"; }
for part in train validation; do cmp config-$part.dlx own-$part.dlx || fail "$part: the commands make other records"; done
"$python3" -c 'import numpy as np
t = np.load("table.npy")
np.savetxt("a table.csv", np.c_[t, t[:, 0] > 0], "%g", ",", header="a,b,c,d,e,f,g,y", comments="")'
expect 0 "$train" --suggest 'a table.csv:a,b,c' 'a table.csv:y' -o t.yaml
says out "dlx-convert -i 'a table.csv:a,b,c' -t 'a table.csv:y' --split"
says out '48 samples of 3 numbers: '
expect 64 "$train" --suggest table.npy class.npy -o own.yaml
mv own.yaml gone
expect 64 "$train" --suggest table.npy class.npy -o own.yaml
says err "'own-train.dlx' is there"
expect 64 "$train" --suggest table.npy -o a.yaml
says err "'table.npy' is no record, and '--suggest' makes records of two files: '--suggest table.npy TARGETS'"
expect 64 "$train" --suggest table.npy data.dlx -o a.yaml
expect 66 "$train" --suggest table.npy none.npy -o a.yaml
says err "there is no 'none.npy'"
expect 66 "$train" --suggest table.npy none.npy
expect 65 "$train" --suggest table.npy map.npy -o a.yaml
expect 0 "$convert" -q -i table.npy -o bare.dlx
expect 65 "$train" --suggest bare.dlx -o a.yaml
says err 'no target: there is nothing to learn'
expect 0 "$convert" -q -i table.npy -t one.npy -o one.dlx
expect 65 "$train" --suggest one.dlx -o a.yaml
says err 'one class alone'
[ ! -e a.yaml ] && [ ! -e a-linear.yaml ] || fail "a config without a suggestion"
big || pass

# beats METRIC MORE: net's is better than that of its linear config; MORE: a larger one is.
beats() {
	rm -rf ./*.yaml runs
	expect 0 "$train" --suggest train.dlx validation.dlx -o net.yaml
	for config in net net-linear; do
		expect 0 "$train" --quiet $config.yaml
		expect 0 "$train" --quiet --evaluate runs/$config
		sed -n 's/.*"type": "validation".*"'"$1"'": \([0-9.e+-]*\)[,}].*/\1/p' out | tail -n 1 >$config.value
	done
	paste net.value net-linear.value | awk -v more="$2" '{ exit !(more ? $1 > $2 : $1 < $2) }' || fail "$1: $(cat net.value), linear $(cat net-linear.value)"
}

# records OPTIONS...: of dlx-convert, for both parts.
records() {
	expect 0 "$convert" -q "$@" --split train=0.8,validation=0.2 -o data.dlx
	mv data-train.dlx train.dlx
	mv data-validation.dlx validation.dlx
}
for example in classifier regression unet2d unet3d netcdf finetune; do expect 0 "$DLX_BUILD/dlx-example" $example; done
records -i digits.npy -t digits-labels.idx
beats accuracy 1
records -i storms.h5:u,v -t storms.h5:x,y,pressure,speed,rain
beats loss 0
records -i 'cells/*.png' -t 'labels/*.png'
beats mean_iou 1
records -i volumes.h5:image -t volumes.h5:label
beats mean_iou 1
records --concatenate -i 'weather-[1234].nc:u,v,q' -i ground.nc:height -t 'weather-[1234].nc:rain'
beats rmse 0
records -i materials.npy -t materials-labels.npy
beats accuracy 1
