#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What an output may be: no command writes over one of its inputs, a device stays a device, a link stays a link, a
# file keeps its mode, and nothing is left by what is refused.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$PWD/tiny.yaml
cp "$DLX_SOURCE/test/train/tiny.yaml" "$config"
good=$(cat data/*.dlx "$config" | cksum)
expect 0 "$train" --set train.steps=2 "$config"

begin "inputs, by their own names and by others"
ln -s data/coads-train.dlx link.nc
ln data/coads-validation.dlx hard.npy
ln -s data/coads-train.dlx symbolic.safetensors
ln data/coads-validation.dlx hard.safetensors
ln "$config" config.safetensors
ln "$(version_of runs/tiny)" version.safetensors
for out in symbolic.safetensors hard.safetensors config.safetensors version.safetensors runs/tiny/checkpoints/packs/*.pack; do
	expect 64 "$train" --export "$out" "$config"
	says err 'which is read'
done
for out in link.nc hard.npy; do
	expect 64 "$train" --predict data/coads-validation.dlx -o "$out" "$config"
done
mkdir pictures
ln data/coads-validation.dlx pictures/000002.png
expect 64 "$train" --predict data/coads-validation.dlx -o pictures "$config"
ln data/coads-train.dlx trace.json
expect 64 "$train" --set run.dir=runs/traced --set train.steps=1 --trace trace.json "$config"
says err 'which is read'
[ ! -e runs/traced ] || fail "a run whose trace cannot be written has begun"
mkdir drawn
ln data/coads-train.dlx drawn/sample-00000.png
expect 64 "$inspect" --png drawn data/coads-train.dlx
expect 64 "$convert" --input "$coads:WSPD" --target "$coads:SST" -o "$coads"
ln -s "$coads" source.dlx
expect 64 "$convert" --input "$coads:WSPD" --target "$coads:SST" -o source.dlx
ln runs/tiny/metrics.jsonl metrics.svg
expect 64 "$report" runs/tiny --svg metrics.svg
says err 'which is read'
[ "$(cat data/*.dlx "$config" | cksum)" = "$good" ] || fail "an input is not what it was"

begin "names of formats"
# A name is no other format's than that of what is written; a name of no format is taken as it is.
promises() {
	format=$1
	shift
	expect 64 "$@"
	says err "is the name of $format, as which it is not written; expected $expected"
}
expected='a name that ends in .safetensors'
promises 'an ONNX model' "$train" --export m.onnx "$config"
promises 'a PyTorch checkpoint' "$train" --export=a.b/m.PT "$config"
promises 'an HDF5 file' "$train" --export m.h5 "$config"
expected='a name that ends in .dlx'
promises 'a NumPy .npz file' "$convert" --input "$coads:WSPD" --target "$coads:SST" -o out.npz
promises 'a TFRecord file' "$convert" --input "$coads:WSPD" --target "$coads:SST" -oout.tfrecord
promises 'a CSV table' "$DLX_BUILD/dlx-stem" -o out.csv
expected='a name that ends in .npy, .npz, .nc, .h5, .hdf5, .csv, .png, .svg, .yaml or .yml, or a folder for pictures'
for out in p.tif p.json p.zarr p.pt p.dlx P.NPY; do
	expect 64 "$train" --predict data/coads-validation.dlx -o $out "$config"
	says err "$expected"
	[ ! -e $out ] || fail "$out was made"
done
expect 64 "$train" --predict data/coads-validation.dlx -o p.png "$config"
says err 'predictions of samples are written to a folder, as a picture each, or to a file'
expected='a folder of files'
promises 'a NumPy .npz file' "$train" --dump-step step.npz "$config"
expected='a folder'
promises 'an archive' "$DLX_BUILD/dlx-example" -o here.zip classifier
promises 'a PNG picture' "$inspect" --png drawn.png data/coads-train.dlx
expected='a name that ends in .svg'
promises 'a page' "$report" runs/tiny --svg r.pdf
expected='a name that ends in .json'
promises 'a compressed file' "$train" --set run.dir=runs/traced --trace t.json.gz "$config"
expect 0 "$train" --export WEIGHTS.SAFETENSORS "$config"
expect 0 "$train" --export weights.v2 "$config"
expect 0 "$train" --predict data/coads-validation.dlx -o runs.v2 "$config"
[ -d runs.v2 ] || fail 'a name without a known ending is no folder'

begin "a config in the run's folder"
mkdir -p runs/own
cp "$config" runs/own/config.yaml
expect 64 "$train" --set run.dir=runs/own --set train.steps=1 runs/own/config.yaml
says err 'effective config'
cmp "$config" runs/own/config.yaml || fail "the config is replaced"
expect 0 "$train" --set train.steps=3 --resume runs/tiny/config.yaml

begin "devices"
# Devices: written in place, and their errors reported. A copy of /dev/full is as good a victim.
full=/dev/full
if mknod -m 666 ./full c 1 7 2>/dev/null && [ -w ./full ] && ! echo 2>/dev/null >./full; then
	full=./full
fi
refuses() {
	expect "$@"
	[ -c "$full" ] || fail "no longer a device after: $*"
}
refuses 74 "$train" --export "$full" "$config"
refuses 74 "$convert" --input "$coads:WSPD" --target "$coads:SST" -o "$full"
refuses 74 "$report" runs/tiny --svg "$full"
refuses 74 "$train" --set run.dir=runs/full --set train.steps=1 --trace "$full" "$config"
for end in npy nc; do
	ln -s "$full" full.$end
done
refuses 74 "$train" --predict data/coads-validation.dlx -o full.npy "$config"
refuses 73 "$train" --predict data/coads-validation.dlx -o full.nc "$config"
refuses 73 "$train" --predict data/coads-validation.dlx -o "$full" "$config"

begin "a netCDF file that does not fit, from its first bytes on and later"
for end in nc h5; do
	for blocks in 1 8 24; do
		(ulimit -f $blocks && exec "$train" --quiet --predict data/coads-validation.dlx -o cut.$end "$config") >out 2>err
		rc=$?
		[ $rc = 73 ] || [ $rc = 74 ] || fail "status $rc of a prediction that does not fit: $(cat err)"
		says err "cannot write 'cut.$end'"
		[ ! -e cut.$end ] || fail "cut.$end is left"
	done
done
refuses 73 "$train" --dump-step "$full" "$config"
refuses 73 "$inspect" --png "$full" data/coads-train.dlx
expect 0 "$train" --export /dev/null "$config"
expect 0 "$convert" --input "$coads:WSPD" --target "$coads:SST" -o /dev/null
[ -c /dev/null ] || fail "/dev/null is gone"
"$train" --export /dev/stdout "$config" >stdout.st 2>err || fail "cannot export to standard output"
"$train" --export /dev/stdout "$config" 2>err | cat >pipe.st
expect 0 "$train" --export file.st "$config"
cmp file.st stdout.st || fail "standard output has something else"
cmp file.st pipe.st || fail "a pipe has something else"
mkfifo named
cat named >named.st &
expect 0 capped "$train" --export named "$config"
ends $!
cmp file.st named.st || fail "a named pipe has something else"

begin "links and modes stay, folders and what lies in no folder are refused"
chmod 600 file.st
ln -s file.st latest.st
expect 0 "$train" --export latest.st "$config"
[ -L latest.st ] || fail "the link is replaced"
[ "$(stat -c %a file.st)" = 600 ] || fail "the mode is lost"
cmp file.st named.st || fail "another content through a link"
expect 73 "$train" --export data "$config"
expect 73 "$train" --export nowhere/x.st "$config"
expect 73 "$train" --predict data/coads-validation.dlx -o file.st "$config"
rm -rf runs/linked && mkdir -p runs/linked && ln -s ../../data/coads-train.dlx runs/linked/metrics.jsonl
expect 73 "$train" --set run.dir=runs/linked --set train.steps=1 "$config"
[ "$(cat data/*.dlx "$config" | cksum)" = "$good" ] || fail "an input is not what it was"
[ -z "$(find . -name '*.tmp*')" ] || fail "temporary files are left"

begin "inputs without an end"
expect 66 "$train" --check /dev/zero
says err 'it is a device'
truncate -s 1T large.yaml
expect 65 "$train" --check large.yaml
yes | expect 65 "$train" --check /dev/stdin
says err '64 MiB'
expect 0 "$train" --check /dev/stdin <"$config"
pass
