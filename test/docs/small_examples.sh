#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The examples of dlx-example(1): in a folder of its own, with nothing but the config of configs/examples, each section's
# commands run in order, and the network reaches what the page's table says. Two seeds are pooled, outputs are named,
# and tiled predictions have the bits of whole ones.
# limit: 15 minutes
. "${DLX_SOURCE:?}/test/lib.sh"
PATH=$DLX_BUILD:$PATH
OMP_NUM_THREADS=1
export PATH OMP_NUM_THREADS
page=$DLX_SOURCE/man/dlx-example.1

# commands NAME: those of a section of the page.
commands() {
	awk -v section=".Ss $1" '
	/^\.S[sh] / { inside = $0 == section }
	inside && (more || /^\$ /) { more = /\\e$/; sub(/^\$ /, ""); sub(/\\e$/, "\\"); print }' "$page"
}

# metric NAME: that of the line of JSON in ./evaluation; of a list the smallest.
metric() {
	tail -n 1 evaluation | sed -n 's/.*"'"$1"'": \[*\([0-9., e+-]*[0-9]\).*/\1/p' | tr , '\n' | sort -g | head -n 1
}

# reaches NAME METRIC VALUE: errors at most, all others at least.
reaches() {
	"$train" --quiet --evaluate "$1.yaml" >evaluation 2>&1 || { cat evaluation; fail "$1: --evaluate"; }
	got=$(metric "$2")
	awk -v got="$got" -v stated="$3" -v metric="$2" 'BEGIN {
		exit !(got != "" && (metric ~ /^m[sa]e$/ ? got + 0 <= stated : got + 0 >= stated)) }' ||
		fail "$1: $2 is '$got', not the $3 of dlx-example(1)"
}

# runs SECTION: the commands of a section, in this folder; what they say is in ./log.
runs() {
	commands "$1" >commands.sh
	capped sh -exc '. ./commands.sh' >log 2>&1 || { cat log; fail "$1: a command of dlx-example(1)"; }
}

# example NAME METRIC VALUE
example() {
	mkdir "$work/$1"
	cd "$work/$1" || exit 99
	cp "$DLX_SOURCE/configs/examples/$1.yaml" .
	chmod u+w "$1.yaml"
	runs "$1"
	[ "$(grep -c '^dlx-' commands.sh)" -ge 7 ] || fail "dlx-example(1) has lost the commands of $1"
	reaches "$@"
	says log "no mistakes found"
	[ -s "$1.safetensors" ] || fail "$1: no export"
}

sed -n 's/^\.It \([a-z0-9]*\) Ta .* Ta \([a-z0-9_]*\) \([0-9.]*\)$/\1 \2 \3/p' "$page" >table
n=0
while read -r name metric value; do
	example "$name" "$metric" "$value" </dev/null
	n=$((n + 1))
done <table
[ "$n" -eq "$(find "$DLX_SOURCE/configs/examples" -name '*.yaml' | wc -l)" ] || fail "only $n of the examples"

cd "$work/classifier" || exit 99
head -n 1 classes.csv | grep -qx 'sample,class' || fail "classes.csv has more than the classes"
says confusion.svg '<svg'
runs seeds
says log 'runs/classifier (2 seeds)'
cd "$work/regression" || exit 99
head -n 1 storms.csv | grep -qx 'sample,x,y,pressure,speed,rain' || fail "storms.csv does not name the targets"
grep -q '^rain .* [0-9.]*e+1[01]$' log || fail "large errors are not printed by their first digits"
cd "$work/netcdf" || exit 99
if command -v ncdump >/dev/null; then
	ncdump -h rain.nc >header
	says header 'float prediction(time, channel, lat, lon)'
	says header 'prediction:channels = "rain"'
	says header 'time:units = "hours since 2001-01-01"'
fi
expect 66 "$train" --predict weather-4.nc -o part.nc netcdf.yaml
says err "no variable 'height'"
says err "joins those of several files"

cd "$work/unet2d" || exit 99
[ "$(find predicted -name '*.png' | wc -l)" -eq "$(find cells -name 'new-*.png' | wc -l)" ] || fail "not a picture each"
expect 0 "$DLX_BUILD/dlx-inspect" --verify cells.dlx
says out '12 samples, input 1x96x150, target 96x150'
expect 0 "$train" --quiet --predict 'cells/new-large-*.png' -o whole.npy unet2d.yaml
cmp whole.npy cells.npy || fail "unet2d: tiles are not the whole"
says log '6 tiles of 96 x 96'
says log 'prediction whole samples, such as those of 96 x 96'
cd "$work" || exit 99
expect 64 "$DLX_BUILD/dlx-example" unet
says err "did you mean 'unet2d'?"
expect 64 "$DLX_BUILD/dlx-example"
says err 'no example named'
expect 73 "$DLX_BUILD/dlx-example" -o table classifier
pass
