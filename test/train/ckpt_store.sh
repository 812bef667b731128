#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A run is what its folder says. Where its store is gone, moved, empty or no folder, every command ends with status 66 and the store's name, and
# changes nothing; so it is for a fork whose origin is gone. A run that has saved nothing yet begins.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
set -- --set checkpoint.every.steps=2 --set train.steps=4 "$config"

sums() {
	find "$1" -type f -exec cksum {} + | sort
}

# How commands are run, the status that is expected, and the words before the store's name.
as= want=66 words="its store"

# train_refuses RUN STORE OPTION...: dlx-train ends so, whatever it is to do with the run.
train_refuses() {
	run=$1 store=$2
	shift 2
	for how in --check --plan --bench '--export bad.safetensors' --evaluate '--predict data/coads-validation.dlx -o bad.npy' \
		--resume --resume=best --resume=4 --quiet '--replay 2..4'; do
		expect $want $as "$train" $how --set run.dir="$run" "$@"
		says err "$words '$store'"
	done
}

# refuses RUN STORE OPTION...: every command ends so, and the run's folder is as it was.
refuses() {
	sums "$1" >before
	train_refuses "$@"
	for how in log 'show last' verify 'diff last best' 'fork last runs/no' 'tag a last' 'pin last' 'search step>1' gc \
		'export last bad.npz'; do
		expect $want $as "$ckpt" "$1" $how
		says err "$words '$2'"
	done
	sums "$1" >after
	cmp before after || fail "$1 is not as it was"
	[ -z "$(ls -d bad.* runs/no 2>/dev/null)" ] || fail "$1: something was written"
}

begin "a store that several runs may share: not there, empty, or another one"
shared="--set checkpoint.store=$PWD/store"
expect 0 "$train" --set run.dir=runs/one $shared "$@"
mv store away
refuses runs/one "$PWD/store" $shared "$@"
[ ! -e store ] || fail "a store was made"
mkdir store
refuses runs/one "$PWD/store" $shared "$@"
rmdir store
expect 0 "$train" --set run.dir=runs/two $shared "$@"
refuses runs/one "$PWD/store" $shared "$@"
rm -r store

begin "a file, a loop of links, and a store without its folder"
: >store
refuses runs/one "$PWD/store" $shared "$@"
says err "its store '$PWD/store' is a file"
expect 73 "$train" --set run.dir=runs/three $shared "$@"
says err "cannot create folder '$PWD/store'"
rm store
ln -s store store
refuses runs/one "$PWD/store" $shared "$@"
says err "its store '$PWD/store' is a loop of symbolic links"
expect 73 "$train" --set run.dir=runs/three $shared "$@"
says err "cannot create folder '$PWD/store'"
expect 66 "$ckpt" store log
rm store
mkdir store
: >store/versions
refuses runs/one "$PWD/store" $shared "$@"
rm -r store
mv away store

begin "a store that may not be read"
# Read by a user without that right; nothing of it is regarded as damaged.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	as="setpriv --reuid 65534 --regid 65534 --clear-groups"
	chmod a+rwx .
fi
mkdir -m 777 runs/any
chmod -R a+rwX runs/one data
if { [ -n "$as" ] || [ "$(id -u)" -ne 0 ]; } && $as test -x "$train" && $as test -w runs/any; then
	want=74 words="while looking into"
	for folder in store store/versions; do
		chmod 0 $folder
		refuses runs/one "$PWD/store" $shared "$@"
		expect 74 $as "$train" --set run.dir=runs/any/new $shared "$@"
		says err "$words '$PWD/store'"
		expect 74 $as "$ckpt" store log
		chmod 755 $folder
		rm -rf runs/any/*
	done
	chmod 0 store/packs
	for how in --evaluate --resume '--export bad.safetensors'; do
		expect 74 $as "$train" $how --set run.dir=runs/one $shared "$@"
		says err "none of the 3 checkpoints in '$PWD/store' can be read"
	done
	expect 74 $as "$ckpt" runs/one verify
	chmod 755 store/packs
	chmod 0 runs/one
	expect 66 $as "$train" --evaluate runs/one
	says err "cannot open 'runs/one/config.yaml': Permission denied"
	expect 74 $as "$ckpt" runs/one log
	chmod 755 runs/one
fi
as= want=66 words="its store"
expect 0 "$train" --set run.dir=runs/one $shared --resume --set train.steps=5 "$@"
says out '(step 4)'

begin "a run that has not reached its first checkpoint starts again"
DLX_DEBUG=$(debug crash_at=ckpt_staged) "$train" --set run.dir=runs/killed $shared "$@" >out 2>err && fail "not killed"
expect 0 "$train" --export none.safetensors --set run.dir=runs/killed $shared "$@"
expect 66 "$train" --evaluate --set run.dir=runs/killed $shared "$@"
says err 'train first'
expect 0 "$train" --resume --set run.dir=runs/killed $shared "$@"
says out 'starting from the beginning'

begin "a fork whose origin's folder is moved; a file that was imported into the store"
expect 0 "$train" --set run.dir=runs/origin "$@"
expect 0 "$ckpt" runs/origin fork last runs/fork
expect 0 "$ckpt" runs/origin export --all last origin.npz
expect 0 "$ckpt" runs/origin import origin.npz runs/import
origin=$PWD/runs/origin/checkpoints
mv runs/origin runs/elsewhere
refuses runs/fork "$origin" "$@"
refuses runs/import "$origin" "$@"
ln -s elsewhere runs/origin
expect 0 "$train" --resume --set run.dir=runs/fork --set train.steps=5 "$@"
rm runs/origin
mv runs/elsewhere runs/origin

begin "the run's own store, emptied; and all of its folder"
rm -r runs/origin/checkpoints/versions
refuses runs/origin runs/origin/checkpoints "$@"
rm -r runs/origin/checkpoints
train_refuses runs/origin runs/origin/checkpoints "$@"
expect 66 "$ckpt" runs/origin verify
: >runs/origin/checkpoints
for how in --evaluate --resume; do
	expect 66 "$train" $how --set run.dir=runs/origin "$@"
	says err "'runs/origin/checkpoints', the store of the run in 'runs/origin', is a file"
done
expect 66 "$ckpt" runs/origin verify
rm runs/origin/checkpoints
ln -s checkpoints runs/origin/checkpoints
expect 66 "$train" --resume --set run.dir=runs/origin "$@"
expect 66 "$ckpt" runs/origin verify
says err "Too many levels of symbolic links"
pass
