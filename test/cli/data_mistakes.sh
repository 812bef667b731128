#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Mistakes with data and weights that a user of PyTorch or Keras makes, each with the message that mends it.
. "${DLX_SOURCE:?}/test/lib.sh"

# npy FILE TYPE SHAPE BYTES: an array of NumPy. BYTES: for printf.
npy() {
	header="{'descr': '$2', 'fortran_order': False, 'shape': ($3,), }"
	{
		printf '\223NUMPY\001\000'"\\$(printf %03o ${#header})"'\000%s' "$header"
		printf "$4"
	} >"$1"
}

begin "shapes and classes"
# Four samples of one channel and 2x2 points, and labels for them.
floats='\000\000\000\000' one='\000\000\200\077'
half='\000\000\000\077'
four=$half$half$half$half
npy x.npy '<f4' '4, 1, 2, 2' "$four$four$four$four"
npy labels.npy '|u1' '4, 2, 2' '\000\001\001\000\001\001\000\000\001\000\000\000\001\001\001\000'
npy void.npy '|u1' '4, 2, 2' '\377\001\001\000\001\001\000\000\001\000\000\000\001\001\001\000'
npy mask.npy '|u1' '4, 2, 2' '\377\000\000\000\377\377\000\000\000\000\000\000\377\377\000\000'
npy below.npy '|i1' '4, 2, 2' '\377\001\001\000\001\001\000\000\001\000\000\000\001\001\001\000'
npy whole.npy '<f4' '4, 2, 2' "$floats$one$one$one$floats$floats$floats$floats$one$one$one$one$floats$floats$one$one"
npy each.npy '<i4' '4' '\000\000\000\000\001\000\000\000\000\000\000\000\001\000\000\000'
npy hot.npy '|u1' '4, 2, 2, 2' "$(printf '\\001%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)"
npy wide.npy '|u1' '4, 1, 4' '\000\001\001\000\001\001\000\000\001\000\000\000\001\001\001\000'

# made TEXT ARGUMENT...: dlx-convert makes a record and says the text.
made() {
	text=$1
	shift
	expect 0 "$convert" -q "$@"
	says err "$text"
}
quietly() {
	expect 0 "$convert" -q "$@"
	[ ! -s err ] || { cat err; fail "says something: $*"; }
}
quietly -i x.npy --input-layout first -t labels.npy -o labels.dlx
quietly -i x.npy --input-layout first -t each.npy -o each.dlx
quietly -i x.npy --input-layout first -t wide.npy --target-layout none -o wide.dlx
quietly -i x.npy --input-layout first -t hot.npy -o hot.dlx
quietly -i x.npy --input-layout first -t void.npy --ignore 255 -o ignored.dlx
quietly -i x.npy --input-layout first -t mask.npy --classes 128 -o masked.dlx
quietly -i x.npy --input-layout first -t whole.npy --labels -o numbers.dlx
made 'if 255 means no class, convert with --ignore 255' -i x.npy --input-layout first -t void.npy -o void.dlx
made 'a mask of two classes is converted with --classes 128' -i x.npy --input-layout first -t mask.npy -o mask.dlx
made 'if they are class numbers, convert with --labels; flags of classes, for the loss binary_cross_entropy, are right so' -i x.npy --input-layout first -t whole.npy -o whole.dlx
nan='\000\000\300\177'
npy gap.npy '<f4' '4, 2, 2' "$half$one$nan$half$half$half$half$half$half$half$half$half$half$half$half$half"
made "1 missing target values became 0; with --fill nan they stay apart, and a loss with 'mask: nan' leaves them out" \
	-i x.npy --input-layout first -t gap.npy -o filled.dlx
made '1 missing target values became nan' -i x.npy --input-layout first -t gap.npy --fill nan -o gap.dlx
quietly -i labels.npy -t x.npy -o swapped.dlx
expect 65 "$convert" -i x.npy --input-layout first -t below.npy -o below.dlx
says err 'the label -1 at (0, 0), which is no class'
says err 'named by --ignore'

cat >config.yaml <<'Y'
run: {name: x}
model: {family: layers, classes: 2, layers: [{conv2d: {name: first, filters: 2, kernel: 1}}]}
data: {train: labels.dlx}
loss: softmax_cross_entropy
train: {steps: 1}
Y
check() {
	text=$1
	shift
	expect "$status" "$train" --check "$@" config.yaml
	[ -z "$text" ] || says err "$text"
}
status=0
check ''

begin "paths have variables and the home folder"
cp labels.dlx 'a$b.dlx'
export HERE="$PWD"
for path in '$HERE/labels.dlx' '${HERE}/lab*.dlx' '~/labels.dlx' 'a$$b.dlx' '[~/labels.dlx, "a$$b.dlx"]'; do
	HOME=$PWD check '' --set "data.train=$path" --set "data.validation=$path"
done
HOME=$PWD expect 0 "$train" --quiet --set 'data.train=[$HERE/labels.dlx, {files: a$$b.dlx}]' --set 'data.validation=a$$b.dlx' --set run.dir=dollar config.yaml
expect 0 "$train" --quiet --evaluate dollar
status=78
check "the environment variable 'NOT_THERE' is not set" --set 'data.validation=$NOT_THERE/labels.dlx'
status=65
check "'loss.ignore: 255'" --set data.train=void.dlx
check "'dlx-convert --labels', fields need a loss such as mse" --set data.train=whole.dlx
# of those for validation, too, also where they are labels that only this file ignores
check "'void.dlx' has the label 255, but the network's classes are 0..1" --set data.validation=void.dlx
check "'ignored.dlx' has the label 255, but the network's classes are 0..1" --set data.validation=ignored.dlx
check 'were --input and --target of dlx-convert swapped?' --set data.train=swapped.dlx
check 'for labels it is softmax_cross_entropy' --set loss=mse
check 'an axis of channels, 0 or 1 for each class; for labels it is softmax_cross_entropy' --set loss=binary_cross_entropy
check 'an axis of channels, 0 or 1 for each class; for labels it is softmax_cross_entropy' --set loss=binary_cross_entropy --set data.train=each.dlx
check 'flags of 0 and 1, of several classes at once, binary_cross_entropy' --set data.train=whole.dlx --set loss=dice
check ': convert it with dlx-convert' --set data.train=x.npy
status=78
check 'end it with global_average, or with flatten and dense' --set data.train=each.dlx
check '(one-hot) are made by argmax over it' --set data.train=hot.dlx
check 'where several classes may be there at once the loss is binary_cross_entropy' --set data.train=hot.dlx
check 'so nothing would count in Dice' --set data.train=labels.dlx --set 'loss={type: dice, background: false, class_weights: [1, 0]}'
check "'positive_weight' has 3 numbers, but the output has 2 channels" --set data.train=hot.dlx --set 'loss={type: binary_cross_entropy, positive_weight: [1, 2, 3]}'
check "'output_weights' has 3 numbers, but the output has 2 channels" --set data.train=hot.dlx --set 'loss={type: mse, output_weights: [1, 2, 3]}'
check 'it has to keep the axes after the channels' --set 'model.layers=[flatten, {dense: {units: 2}}]'
check "'target': 7 is no class label: the classes are 0..1, and the loss does not ignore it" --set 'data.transforms=[{rotate: {degrees: 15, target: 7}}]'
check 'the ignore value of the data, 255 is no class label' --set data.train=ignored.dlx --set 'data.transforms=[{pad: 4}]' --set 'loss={type: softmax_cross_entropy, ignore: 1}'
expect 78 "$train" --set 'data.transforms=[{rotate: {degrees: 15, target: 7}}]' config.yaml
says err "'target': 7 is no class label"
check 'as many filters or units as the target has channels' --set loss=mse --set data.train=whole.dlx
check 'only if the network ends at the resolution of the targets' --set data.train=wide.dlx

begin "a target with a gap, and without the filter of two classes"
sed 's/filters: 2/filters: 1/; s/, classes: 2//; s/run: .*/run: {name: gap}/' config.yaml >gap.yaml
finite() {
	expect 0 "$train" --dump-step=gap --set data.train=gap.dlx --set train.batch_size=4 "$@" gap.yaml
	grep -q '"loss": [0-9]' gap/loss.json
}
finite --set 'loss={type: mse, mask: nan}' || fail "a NaN that does not count makes the loss NaN"
expect 65 "$train" --check --set data.train=gap.dlx --set loss=mse gap.yaml
says err "'gap.dlx' has targets that are missing (NaN or infinite; "
says err "'loss: {type: mse, mask: nan}' leaves NaN out"
expect 65 "$train" --check --set data.train=gap.dlx --set 'loss={type: l1, mask: -9}' gap.yaml
finite --set loss=binary_cross_entropy || fail "a flag that is NaN counts"

begin "files of other frameworks, as weights and as data"
printf '\200\002\212\012\154\374\234\106\371\040\152\250\120\031.rest' >old.pth
{ printf 'PK\003\004'; head -c 22 /dev/zero; printf '\020\000\000\000archive/data.pklrest'; } >new.pth
{ printf 'PK\003\004'; head -c 22 /dev/zero; printf '\015\000\000\000metadata.jsonrest'; } >net.keras
{ printf '\211HDF\r\n\032\n'; head -c 60 /dev/zero; } >net.h5
{ printf '\010\007\022\007pytorch\032\0052.1.0'; head -c 60 /dev/zero; } >net.onnx
printf '\211PNG\r\n\032\nrest' >image.png
printf '\037\213rest of it' >x.npy.gz
status=65
for file in old.pth new.pth; do
	check "'$file' is a PyTorch checkpoint, not a safetensors file; save one from Python" --set "model.init_from=$file"
	check "weights are given as 'model.init_from'" --set "data.train=$file"
	expect 65 "$convert" -q -i "$file" -t labels.npy -o none.dlx
	says err "'$file' is a PyTorch checkpoint; write its arrays from Python by numpy.save"
done
check "'net.keras' is a Keras model, not a safetensors file; save its weights" --set model.init_from=net.keras
check "'net.h5' is an HDF5 file, not a safetensors file; save its weights" --set model.init_from=net.h5
check "'net.onnx' is an ONNX model, not a safetensors file; save its weights" --set model.init_from=net.onnx
check "'x.npy' is a NumPy file, not a safetensors file" --set model.init_from=x.npy
check "'labels.dlx' is a dlx record file, not a safetensors file" --set model.init_from=labels.dlx
check 'it is a PNG picture: dlx-convert makes record files of PNG and TIFF pictures and of arrays' --set data.train=image.png
check 'it is compressed with gzip: unpack it first' --set data.train=x.npy.gz
expect 65 "$convert" -q -i image.png -t labels.npy -o none.dlx
says err "'image.png', 'image': png: "
expect 65 "$convert" -q -i net.keras -t labels.npy -o none.dlx
says err "'net.keras' is a Keras model"

begin "names of tensors that do not fit: those of DataParallel, and others"
tensors() {
	header="{\"$1.weight\":{\"dtype\":\"F32\",\"shape\":[2,1,1,1],\"data_offsets\":[0,8]},\"$1.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}"
	{
		printf "\\$(printf %03o ${#header})"'\000\000\000\000\000\000\000%s' "$header"
		head -c 16 /dev/zero
	} >"$2"
}
tensors first good.safetensors
tensors module.first module.safetensors
tensors conv1 names.safetensors
status=0
check "'good.safetensors': all 2 tensors of the network fit, of the layers first" --set model.init_from=good.safetensors
status=65
check "its names begin with 'module.', the network's do not; save it without" --set model.init_from=module.safetensors
check "its names are such as 'conv1.weight', the network's such as 'first.weight'" --set model.init_from=names.safetensors
expect 0 "$train" --set model.init_from=good.safetensors config.yaml
expect 65 "$train" --set model.init_from=module.safetensors config.yaml
says err "its names begin with 'module.', the network's do not; save it without"
expect 65 "$train" --set model.init_from=names.safetensors config.yaml
says err "its names are such as 'conv1.weight', the network's such as 'first.weight'"
status=66
check 'nothere.safetensors' --set model.init_from=nothere.safetensors

begin "a series of channels that was read as a picture"
npy series.npy '<f4' '4, 2, 2' "$four$four$four$four"
expect 0 "$convert" -i series.npy -t each.npy -o series.dlx
says err "input 'series': 4 samples of 1 channel of 2 x 2; '--input-layout first' if the second axis is channels"
status=78
check "series of 2 channels are converted with 'dlx-convert --input-layout first'" --set data.train=series.dlx --set 'model.layers=[{conv1d: {filters: 2, kernel: 1}}, global_average]'
expect 0 "$convert" -q -i series.npy -t each.npy --input-layout first -o series.dlx
status=0
check '' --set data.train=series.dlx --set 'model.layers=[{conv1d: {filters: 2, kernel: 1}}, global_average]'

begin "a file that is no config"
expect 78 "$train" --check labels.dlx
says err "'labels.dlx' is not a text file"
pass
