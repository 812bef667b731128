#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The table of what networks of equations reach runs, and exits by its bounds: all of its rows for two steps each, and of those that
# take seconds the figures. The rest is for machines that are idle.
. "${DLX_SOURCE:?}/test/lib.sh"
accuracy() {
	rm -rf accuracy
	"$python3" "$DLX_SOURCE/test/bench/accuracy" --build "$DLX_BUILD" "$@"
}
find_python3
expect 1 accuracy --set objective.solve.optimizer=adam --set train.steps=2 --rows poisson,burgers,allen-cahn,darcy
for line in poisson burgers allen-cahn darcy; do
	grep -q "^$line  *relative_l2  *[0-9.]*  *[0-9.]*  *[0-9.e-]*  beyond " out || fail "no line of $line where it is not trained: $(cat out)"
done
expect 1 accuracy --set train.steps=2 --rows inverse,inverse-noise
[ "$(grep -c '^inverse.* variable/nu .*beyond' out)" -eq 2 ] || fail "no lines of coefficients: $(cat out)"
expect 2 accuracy --rows poison
says err 'rows are poisson, poisson-f64'
expect 0 accuracy --rows poisson
if big; then
	expect 0 accuracy --rows poisson-f64,darcy
fi
pass
