#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What the documents show works. In a scratch folder: every README block fenced "sh run" is run and every block fenced
# "yaml NAME" is written to NAME, in order; then the "$" lines of dlx-train(1)'s examples; then the configs that
# dlx-config(5) shows are checked, and its error message is compared with a real one.
. "${DLX_SOURCE:?}/test/lib.sh"
PATH=$DLX_BUILD:$PATH
OMP_NUM_THREADS=1
export PATH OMP_NUM_THREADS
page=$DLX_SOURCE/man/dlx-config.5

# npy FILE "SHAPE" BYTES: a NumPy file of unsigned bytes, which come from standard input.
npy() {
	{
		printf '\223NUMPY\001\000\166\000'
		printf '%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': ($2), }"
		head -c "$3"
	} >"$1"
}

# The arrays that README speaks of: digits for values, and classes made of them.
seq 100000 199999 | npy x.npy '96, 3, 32, 32' 294912
seq 100000 199999 | tr '0123456789\n' '\000\001\002\003\000\001\002\003\000\001\002' | npy y.npy '96, 32, 32' 98304

# README as a script: blocks in order.
awk '
/^```/ && inside { if (inside == "yaml") print "END_OF_BLOCK"; inside = ""; next }
/^```sh run$/ { inside = "sh"; blocks++; next }
/^```yaml / { inside = "yaml"; blocks++; print "cat >" $2 " <<\"END_OF_BLOCK\""; next }
/^```/ { inside = "other"; next }
inside == "sh" || inside == "yaml" { print }
END { if (blocks < 5) exit 1 }' "$DLX_SOURCE/README.md" >readme.sh || fail "README.md has lost its marked blocks"
sh -exc '. ./readme.sh' >log 2>&1 || {
	cat log
	fail "a command of README.md"
}
[ -s model.safetensors ] && [ -s predictions.npy ] || fail "README.md's commands left no results"

sed -n 's/^\$ //p' "$DLX_SOURCE/man/dlx-train.1" >page.sh
[ "$(wc -l <page.sh)" -ge 5 ] || fail "dlx-train.1 has lost its examples"
rm -rf runs pictures
sh -exc '. ./page.sh' >log 2>&1 || {
	cat log
	fail "an example of dlx-train(1)"
}

# block TEXT: the literal block of dlx-config(5) that begins with TEXT.
block() {
	awk -v text="$1" '
	/^\.Ed/ { inside = 0 }
	inside == 2 || (inside == 1 && $0 == text) { inside = 2; print; next }
	{ inside = 0 }
	/^\.Bd -literal/ { inside = 1 }' "$page" | sed 's/\\e/\\/g'
}

block 'run: {name: first}' >whole.yaml
block 'model:' >part.yaml
[ -s whole.yaml ] && [ -s part.yaml ] || fail "dlx-config.5 has lost its examples"
expect 0 "$train" --check whole.yaml
sed '/^data:/,$!d' whole.yaml >>part.yaml
expect 0 "$train" --check part.yaml

mkdir wrong
ln -s ../train.dlx ../validation.dlx wrong
sed 's/learning_rate:/learning_rat:/' whole.yaml >wrong/model.yaml
cd wrong || exit 99
expect 78 "$train" --check model.yaml
block "$(head -n 1 err)" >shown
diff shown err || fail "dlx-config.5 shows another error message than the program's"
pass
