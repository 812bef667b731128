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

# One record alone; what is there stays; what there is no suggestion for.
rm -f ./*.yaml
expect 0 "$train" --suggest data.dlx
says config.yaml '# validation: FILE.dlx'
expect 0 "$train" --check config.yaml
expect 64 "$train" --suggest data.dlx
says err "'config.yaml' is there: '-o FILE.yaml' names another one"
expect 64 "$train" --suggest data.dlx -o config.json
expect 64 "$train" --suggest data.dlx data.dlx data.dlx -o a.yaml
expect 66 "$train" --suggest none.dlx -o a.yaml
expect 65 "$train" --suggest table.npy -o a.yaml
says err "'dlx-convert -i table.npy -t TARGETS --split train=0.8,validation=0.2 -o data.dlx' makes records"
expect 0 "$convert" -q -i table.npy -o bare.dlx
expect 65 "$train" --suggest bare.dlx -o a.yaml
says err 'no target: there is nothing to learn'
expect 0 "$convert" -q -i table.npy -t one.npy -o one.dlx
expect 65 "$train" --suggest one.dlx -o a.yaml
says err 'one class alone'
[ ! -e a.yaml ] && [ ! -e a-linear.yaml ] || fail "a config without a suggestion"
big || exit 0

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
