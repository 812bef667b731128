#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The examples of dlx-example(1): in a folder of its own, with nothing but the config of configs/examples, each section's
# commands run in order, and the network reaches what the page's table says. Tiled predictions have the bits of whole ones.
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

# metric NAME: that of the line of JSON in ./evaluation.
metric() {
	tail -n 1 evaluation | sed -n 's/.*"'"$1"'": \([0-9.e+-]*\)[,}].*/\1/p'
}

# reaches NAME METRIC VALUE: errors at most, all others at least.
reaches() {
	"$train" --quiet --evaluate "$1.yaml" >evaluation 2>&1 || { cat evaluation; fail "$1: --evaluate"; }
	got=$(metric "$2")
	awk -v got="$got" -v stated="$3" -v metric="$2" 'BEGIN {
		exit !(got != "" && (metric ~ /^m[sa]e$/ ? got + 0 <= stated : got + 0 >= stated)) }' ||
		fail "$1: $2 is '$got', not the $3 of dlx-example(1)"
}

# example NAME METRIC VALUE
example() {
	mkdir "$work/$1"
	cd "$work/$1" || exit 99
	cp "$DLX_SOURCE/configs/examples/$1.yaml" .
	chmod u+w "$1.yaml"
	commands "$1" >commands.sh
	[ "$(grep -c '^dlx-' commands.sh)" -ge 7 ] || fail "dlx-example(1) has lost the commands of $1"
	capped sh -exc '. ./commands.sh' >log 2>&1 || { cat log; fail "$1: a command of dlx-example(1)"; }
	reaches "$@"
	says log "no mistakes found"
	[ -s "$1.safetensors" ] || fail "$1: no export"
}

sed -n 's/^\.It \([a-z0-9]*\) Ta .* Ta \([a-z_]*\) \([0-9.]*\)$/\1 \2 \3/p' "$page" >table
n=0
while read -r name metric value; do
	example "$name" "$metric" "$value" </dev/null
	n=$((n + 1))
done <table
[ "$n" -eq "$(find "$DLX_SOURCE/configs/examples" -name '*.yaml' | wc -l)" ] || fail "only $n of the examples"

cd "$work/unet2d" || exit 99
expect 0 "$train" --quiet --predict cells-new.dlx -o whole.npy unet2d.yaml
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
