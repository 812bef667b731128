#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-field: the same bytes for any number of threads, realizations by their number alone, fields and solutions that are as the man
# page says (field_values.py computes them again), what it refuses, and training on a record of it. (test/unit/test_field has orders
# of convergence.)
. "${DLX_SOURCE:?}/test/lib.sh"
field=$DLX_BUILD/dlx-field

sensors='--u-sensors 2 --k-sensors @-0.5,0,0.7 --f-sensors 5'
# shellcheck disable=SC2086
make_few() {
	few=$1
	shift
	expect 0 "$field" elliptic "$@" --points 101 $sensors -o "$few"
}
make_few one.dlx -n 7 -j 1
says out 'one.dlx: 7 realizations on 101 points, u: mean '
says out '; 10 sensors'
make_few four.dlx -n 7 -j 4 --quiet
[ ! -s out ] || fail "a quiet command prints: $(cat out)"
cmp one.dlx four.dlx || fail "another number of threads makes other realizations"
make_few first.dlx -n 3 -q
make_few last.dlx -n 4 --first 3 -q
make_few other.dlx -n 7 --seed 2 -q

snapshots='--u-sensors 2 --k-sensors 3 --f-sensors 21'
# shellcheck disable=SC2086
{
	expect 0 "$field" elliptic -n 4000 $snapshots -q -o elliptic.dlx
	expect 0 "$field" elliptic -n 4000 $snapshots --noise 0.1 -q -o noisy.dlx
}
expect 0 "$field" stochastic-poisson -n 4000 --dtype f64 -q -o modes.dlx
expect 0 "$field" lognormal -n 3000 --points 9,7 --box=-1,1,0,3 --kernel exponential --length 0.8:0.4,0.1 --variance 0.3,0.1 \
	--mean 0.5 --sensors @0:1.5,0.125:0.75 --dtype f64 -q -o fields.dlx
expect 0 "$field" darcy -n 3 --cells 24 --values 3,12 --source 5 --left 1 --right flux:0.5 --bottom flux:0 --top 2 --dtype f64 \
	-q -o darcy.dlx
burgers='--x 65 --t 31'
# shellcheck disable=SC2086
{
	expect 0 "$field" burgers $burgers -q -o burgers.dlx
	expect 0 "$field" burgers $burgers --form grid -q -o grid.dlx
	expect 0 "$field" burgers $burgers --sensors 900 --noise 0.01 -q -o some.dlx
}
expect 0 "$field" allen-cahn --x 65 --t 11 -o allen.dlx
says out 'allen.dlx: u at 715 points, mean '
expect 0 "$field" allen-cahn --x 65 --t 11 --modes 2048 --steps 4000 -q -o finer.dlx
expect 0 "$field" heat --diffusion 0.2 --x 21 --t 6 -q -o heat.dlx
expect 0 "$field" poisson --x 101 -q -o poisson.dlx
expect 0 "$field" gaussian -n 1 --points 9,9 --kernel matern-5/2 --length 50 -q -o clipped.dlx
says err 'warning: the covariance of --length 50:50 is not positive on a torus of 128 x 128 points: '
find_numpy
"$python3" "$DLX_SOURCE/test/cli/field_values.py" || fail "a field is not as it should be"

begin "the record contains the command that makes it"
expect 0 "$inspect" --verify fields.dlx
says out 'k_sensors_y f64 2, an extra array'
command=$("$inspect" fields.dlx | sed -n 's/.*made by *//p')
eval "expect 0 $DLX_BUILD/$command -q -o again.dlx"
cmp fields.dlx again.dlx || fail "another file by: $command"
expect 0 "$inspect" poisson.dlx
says out 'dlx-field poisson --seed 1 --level 3 --x 101 '

begin "networks of other families train on it: from permeabilities to pressures"
expect 0 "$field" darcy -n 8 --cells 16 -q -o pressures.dlx
expect 0 "$train" --suggest pressures.dlx pressures.dlx
expect 0 "$train" --quiet --set train.epochs=1 config.yaml

begin "mistakes on the command line leave no file"
# refuses TEXT ARGUMENT...
refuses() {
	refused=$1
	shift
	expect 64 "$field" "$@" -o none.dlx
	says err "$refused"
	[ ! -e none.dlx ] || fail "a refused command leaves a file: $*"
}
refuses "there is no kind 'eliptic'; did you mean 'elliptic'?; kinds: gaussian, lognormal," eliptic
expect 64 "$field"
says err 'no kind is given'
expect 64 "$field" burgers
says err 'no --output given'
refuses "unknown option '--lenght'; did you mean '--length'?" gaussian --lenght 1
refuses "unknown option '--length'" burgers --length 1
refuses "unexpected argument 'more'" gaussian more
refuses "--points: 1 is no whole number from 2 to 4096" gaussian --points 1
refuses "--points: 2.5 is no whole number" gaussian --points 4,2.5
refuses "--points: more than 2 numbers" gaussian --points 4,4,4
refuses "--points: 'x' begins with no number" gaussian --points 4,x
refuses "--box: 2 numbers; expected 4" gaussian --points 4,4 --box 0,1
refuses "--box: 1 is not below 0" gaussian --box 1,0
refuses "--length: 0 is not above 0" gaussian --length 0.1,0
refuses "--length: more than 1 number" gaussian --length 0.1:0.2
refuses "--variance: 2 numbers for 1 length" gaussian --variance 1,2
refuses "--variance: -1 is below 0" gaussian --variance=-1
refuses "--variance: 60 in all is above 40" lognormal --length 1,2 --variance 30,30
refuses "--mean: 41 is not from -40 to 40" darcy --mean 41
refuses "option '--kernel'" gaussian --kernel cubic
refuses "--noise is of sensors, of which there are none" gaussian --noise 0.1
refuses "--sensors: 1.5 is not from 0 to 1" gaussian --sensors @1.5
refuses "--sensors: '0' is neither a number of places" gaussian --sensors 0
refuses "--sensors: '0.5': expected 2 coordinates" gaussian --points 4,4 --sensors @0.5
refuses "--points: 101 points are 0.02 apart, more than a quarter of the correlation length 0.02; expected 401" \
	elliptic --points 101 --f-length 0.02
refuses "--factor: 0 is not from 1e-06" elliptic --factor 0
refuses "--values: '3,0': expected two numbers above 0" darcy --values 3,0
refuses "u is given on no side" darcy --left flux:0 --right flux:1 --bottom flux:0 --top flux:0
refuses "--left: 'flux' begins with no number" darcy --left flux
refuses "--nu: 1e-06 is not from 0.001" burgers --nu 1e-6
refuses "--modes: 100 is no power of two" allen-cahn --modes 100
refuses "--sensors: 51 of 50 points" heat --x 10 --t 5 --sensors 51
refuses "--sensors are points" heat --sensors 5 --form grid
expect 65 "$field" allen-cahn --modes 64 -o none.dlx
says err '64 modes do not resolve the solution'
expect 65 "$field" darcy -n 1 --variance 40 --length 0.05 --kernel exponential -o none.dlx
says err 'conjugate gradients have not come to a residual of 1e-12'
expect 73 "$field" poisson -o missing/none.dlx
[ ! -e none.dlx ] || fail "a refused command leaves a file"
pass
