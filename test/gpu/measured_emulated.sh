#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Measuring engines ends, and loses nothing: a run that is killed in the middle leaves what it measured and compiled; a budget that
# runs out gives the first engines, and the next run goes on; a slow engine is left after one run; of engines that are compiled few are
# tried; large workspaces must be worth it; where one engine is recommended the fallback is measured too. And the switches that say
# which engines may be taken.
# limit: 15 minutes
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
cat >net.yaml <<-'END'
	run: {name: chains, seed: 3}
	model:
	  family: layers
	  input: {channels: 8, size: [8, 12]}
	  classes: 3
	  layers:
	    - conv2d: {filters: 8, kernel: 3, padding: same, name: first}
	    - relu
	    - conv2d: {filters: 8, kernel: 3, padding: same, bias: false}
	    - batch_norm
	    - add: {inputs: [first, previous]}
	    - conv2d: {filters: 16, kernel: 1, bias: false}
	    - batch_norm
	    - relu
	    - conv2d: {filters: 3, kernel: 1}
	data: {train: none.dlx, validation: none.dlx}
	loss: softmax_cross_entropy
	optimizer: {type: sgd, learning_rate: 0.05}
	train: {steps: 1, batch_size: 2}
END
export DLX_FAKE_CUDNN_COMPILED=compiled DLX_FAKE_CUDNN_LOG=used

# step OPTION...: one that notes what is compiled, and which engines run.
step() {
	$under "$emulated" --device=cuda --synthetic --bench=1 "$@" net.yaml
}
under=capped
run() {
	rm -f compiled used
	expect 0 step "$@"
}
# lines FILE [PATTERN]: how many there are.
lines() {
	[ -f "$1" ] && grep -c -e "${2:-.}" "$1" || [ -f "$1" ] || echo 0
}
convolutions() {
	lines "$1" '^conv-'
}
# engines FILE: those of its convolutions, each once.
engines() {
	grep '^conv-' "$1" | cut -f 4 | sed 's/.*eng//' | sort -un | tr '\n' ' '
}

# All of it, for comparison: every problem is known, and the second run neither measures nor compiles.
run --wisdom all
all=$(convolutions all)
[ "$all" -gt 6 ] || fail "only $all problems"
run --wisdom all
[ "$(lines compiled)" = 0 ] || fail "$(lines compiled) engines are compiled again"

# A plan measures what it would run, not the larger batches that are planned to say which one has room.
expect 0 $under "$emulated" --device=cuda --plan --wisdom planned net.yaml
says out 'largest batch'
[ "$(convolutions planned)" -ge "$all" ] || fail "a plan measures $(convolutions planned) of $all problems"
grep '^conv-' planned | grep -v ' x2:' && fail "a plan measures other batches"

# Killed when the fifth engine is compiled, which does not end: what was measured is there, and the rest is measured by the next run,
# which compiles nothing that was compiled.
rm -f compiled used
under=exec
DLX_FAKE_CUDNN_HANG=5 step --wisdom killed >out 2>err &
hanging=$!
under=capped
compiled_5() { [ "$(lines compiled)" = 5 ]; }
awaits "$hanging" compiled_5
stop "$hanging" KILL
[ "$(convolutions killed)" = 4 ] || fail "of four problems that were measured $(convolutions killed) are known"
[ "$(ls killed.compiled | wc -l)" = 4 ] || fail "of four engines $(ls killed.compiled | wc -l) are kept"
run --wisdom killed
[ "$(lines compiled)" = $((all - 4)) ] || fail "$(lines compiled) engines are compiled instead of $((all - 4))"
cut -f 1-4 all >a
cut -f 1-4 killed >b
cmp a b || fail "other engines after a kill"

# One that does not end by itself: the run ends, says which engine it was, and the next one passes that over. Without a file, too.
before=$DLX_DEBUG
DLX_DEBUG=$(debug compile_seconds=3)
export DLX_FAKE_CUDNN_HANG=3
rm -f compiled used
expect 69 step --wisdom endless
says err 'without an end, for'
says err 'the next run with this wisdom passes it over'
[ "$(lines compiled)" = 3 ] || fail "$(lines compiled) engines are begun instead of 3"
endless=$(sed -n "s/.* engine '\([^']*\)' for 3 s .*/\1/p" err)
rm -f compiled
DLX_FAKE_CUDNN_HANG=1 DLX_FAKE_CUDNN_PROPOSE=44 expect 69 step
says err 'with --wisdom FILE one that does not end is passed over'
unset DLX_FAKE_CUDNN_HANG
DLX_DEBUG=$before
grep -l 'does not end compiling' endless.compiled/* >kept
[ "$(lines kept)" = 1 ] || fail "$(lines kept) engines are kept as ones without an end"
grep -q "$endless" "$(cat kept)" || fail "not $endless is kept, which was named"
run --wisdom endless
[ "$(convolutions endless)" = "$all" ] || fail "of $all problems $(convolutions endless) are known"
grep -l 'does not end compiling' endless.compiled/* | cmp - kept || fail "the engine is tried again"

# A budget that runs out: the first engines, a word, and no line for what was not measured. Each run gets further, to the same end.
DLX_DEBUG=$(debug measure_seconds=0.3) DLX_FAKE_CUDNN_COMPILE=0.1 run --wisdom budget
says err 'problems take the first engine'
left=$(sed -n 's/.* \([0-9]*\) problems take the first.*/\1/p' err)
known=$(convolutions budget)
[ "$known" -gt 0 ] && [ "$known" -lt "$all" ] || fail "in a budget for some $known of $all problems are measured"
[ "$(lines compiled)" -lt "$all" ] || fail "all engines are compiled"
[ "$left" -gt 0 ] || fail "$left problems are left of $all, $known known"
sort -u used | grep -qx 43 || fail "the first engine is not used"
times=1
until [ "$(lines budget)" = "$(lines all)" ]; do
	before=$(lines budget)
	DLX_DEBUG=$(debug measure_seconds=0.3) DLX_FAKE_CUDNN_COMPILE=0.1 run --wisdom budget
	times=$((times + 1))
	[ "$(lines budget)" -gt "$before" ] || fail "run $times measures nothing"
done
cut -f 1-4 budget >b
cmp a b || fail "other engines after a budget that ran out"

# Also in the middle of a problem, which then is none that is known; the next run knows it, since what was compiled is there.
export DLX_FAKE_CUDNN_PROPOSE=43,44,46 DLX_FAKE_CUDNN_COMPILE=0.5
DLX_DEBUG=$(debug measure_seconds=0.3) run --wisdom middle
[ "$(lines compiled)" = 1 ] || fail "$(lines compiled) engines are compiled in a budget for a part of one"
[ ! -e middle ] || [ "$(convolutions middle)" = 0 ] || fail "a problem is known of which a part was measured"
DLX_DEBUG=$(debug measure_seconds=0.3) run --wisdom middle
[ "$(convolutions middle)" = 1 ] || fail "$(convolutions middle) problems are known"
unset DLX_FAKE_CUDNN_PROPOSE DLX_FAKE_CUDNN_COMPILE

# One run after the first, which loads code, shows that an engine is slow: of 43, against which it is, there are four.
DLX_FAKE_CUDNN_SLOW=44 run --wisdom slow
[ "$(lines used 44)" = $((2 * all)) ] || fail "a slow engine runs $(lines used 44) times for $all problems"
[ "$(engines slow)" = '43 ' ] || fail "a slow engine is taken: $(engines slow)"

# Of three that are compiled two are tried, the third proposal not, though it is the fastest; of a chain's gradient to the data one.
export DLX_FAKE_CUDNN_PROPOSE=43,44,46,47
run --wisdom several
grep -q 'eng47' several && fail "a third engine is compiled"
grep -q 'eng46' several || fail "a second engine is not"
grep 'conv-data+' several | grep -v eng44 && fail "of a chain's gradient a second engine is compiled"
chains=$(lines several 'conv-data+')
[ "$chains" -gt 0 ] || fail "there is no such chain"
[ "$(lines compiled)" = $((2 * all - chains)) ] || fail "$(lines compiled) engines are compiled for $all problems"
[ "$(ls several.compiled | wc -l)" = "$(lines compiled)" ] || fail "what lost is not kept"

# Of engines that do not compile as many are tried, once for all runs, and the third, which would, is not.
export DLX_FAKE_CUDNN_PROPOSE=44,46,47,0 DLX_FAKE_CUDNN_BROKEN=44,46
DLX_DEBUG=$(debug engines=first) run --wisdom broken
[ "$(sort -u used)" = 0 ] || fail "with engines that do not compile others run: $(sort -u used)"
grep -q 47 compiled && fail "a third engine is compiled"
[ "$(lines compiled)" -gt "$all" ] || fail "one engine that does not compile is tried, not two"
DLX_DEBUG=$(debug engines=first) run --wisdom broken
[ "$(lines compiled)" = 0 ] || fail "what did not compile is tried again"
unset DLX_FAKE_CUDNN_BROKEN

# More workspace than 256 MiB for a tenth less time, not for less; also where nothing is measured.
export DLX_FAKE_CUDNN_PROPOSE=43,44 DLX_FAKE_CUDNN_LARGE=44
DLX_FAKE_CUDNN_SLOW=44:18.5 run --wisdom small
[ "$(engines small)" = '43 ' ] || fail "a large workspace for less than a tenth: $(engines small)"
DLX_FAKE_CUDNN_SLOW=44:17.5 run --wisdom large
[ "$(engines large)" = '44 ' ] || fail "no large workspace for more than a tenth: $(engines large)"
export DLX_FAKE_CUDNN_LARGE=43
DLX_FAKE_CUDNN_SLOW=44:21.5 run --wisdom other
[ "$(engines other)" = '44 ' ] || fail "a large workspace that is proposed first for less than a tenth: $(engines other)"
run
[ "$(sort -u used)" = 44 ] || fail "without measuring a large workspace is taken"
export DLX_FAKE_CUDNN_LARGE=43,44
run
[ "$(sort -u used)" = 43 ] || fail "where all are large the first is not taken"
unset DLX_FAKE_CUDNN_LARGE

# The fallback's engine is measured where one is recommended, and not where there are two; nor for chains.
export DLX_FAKE_CUDNN_PROPOSE=43,0
DLX_FAKE_CUDNN_SLOW=0:3 run --wisdom one
grep '^conv-weights ' one | grep -q 'f0:eng0' || fail "the fallback is not measured"
grep '^conv-[a-z]*+' one | grep 'eng0	' && fail "the fallback is measured for a chain"
export DLX_FAKE_CUDNN_PROPOSE=43,44,0
DLX_FAKE_CUDNN_SLOW=0:3 run --wisdom two
grep 'f0:eng0' two && fail "the fallback is measured next to two"
unset DLX_FAKE_CUDNN_PROPOSE

# Two runs at once with one file lose no line of each other: the second begins and ends while the first measures.
rm -f compiled used
DLX_FAKE_CUDNN_COMPILE=0.3 step --wisdom both >out.1 2>&1 &
first=$!
awaits "$first" test -s both
DLX_FAKE_CUDNN_COMPILED=compiled.2 DLX_FAKE_CUDNN_LOG=used.2 expect 0 step --wisdom both --set train.batch_size=3
ends "$first"
[ $status -eq 0 ] || { cat out.1; fail "next to another run"; }
[ "$(convolutions both)" = $((2 * all)) ] || fail "of two runs with $all problems each $(convolutions both) are known"

# Which engines may be taken, whatever wisdom knows; what is compiled is kept. A chain has no engine but those of the first list.
# takes ENGINES PROPOSED WORD...
takes() {
	want=$1
	export DLX_FAKE_CUDNN_PROPOSE="$2"
	shift 2
	rm -rf switch switch.compiled
	DLX_DEBUG=$(debug "$@") run --wisdom switch
	[ "$(sort -un used | tr '\n' ' ')" = "$want " ] || fail "with $* engines $(sort -un used | tr '\n' ' ')"
}
takes '43 44' 43,44 engines=measured
[ -s switch ] && [ "$(ls switch.compiled | wc -l)" = "$all" ] || fail "nothing is measured, or kept"
takes 43 43,44 engines=first
[ ! -e switch ] && [ ! -e switch.compiled ] || fail "something is measured"
takes 44 44,0 engines=first
[ "$(lines compiled)" -gt 0 ] && [ "$(ls switch.compiled | wc -l)" = "$(lines compiled)" ] || fail "what is compiled is not kept"
takes 0 44,0 engines=precompiled
[ ! -e switch ] && [ ! -e switch.compiled ] || fail "something is compiled"
cp several switch
DLX_FAKE_CUDNN_PROPOSE=43,44,46,47 DLX_DEBUG=$(debug engines=first) run --wisdom switch
[ "$(sort -u used)" = 43 ] || fail "wisdom decides"
cmp several switch || fail "wisdom is changed"

# Matrix products go by the same switch and the same budget.
cat >dense.yaml <<-'END'
	run: {name: dense, seed: 3}
	model:
	  family: layers
	  layers:
	    - flatten
	    - dense: 16
	    - relu
	    - dense: 4
	data: {train: none.dlx, validation: none.dlx}
	loss: softmax_cross_entropy
	optimizer: {type: sgd, learning_rate: 0.05}
	train: {steps: 1, batch_size: 2}
END
# products WORD...: how many are known then; in a budget for none the first is still measured.
products() {
	rm -f products
	DLX_DEBUG=$(debug "$@") expect 0 capped "$emulated" --device=cuda --synthetic --bench=1 --wisdom products \
		--set 'model.input={channels: 3, size: [8, 8]}' --set model.classes=4 dense.yaml
	known=$(lines products '^product')
}
products engines=measured
[ "$known" -gt 2 ] || fail "$known products are known"
products engines=first
[ "$known" = 0 ] || fail "with the first engines $known products are measured"
products measure_seconds=0.000001
[ "$known" = 1 ] || fail "without time $known products are measured"
says err 'problems take the first engine'

# Nothing but convolutions alone.
export DLX_FAKE_CUDNN_PROPOSE=43 DLX_FAKE_CUDNN_QUESTIONS=queried
run
sort -u queried >fused && rm queried
DLX_DEBUG=$(debug skip=chains) run
sort -u queried >plain
[ "$(wc -l <plain)" -lt "$(wc -l <fused)" ] || fail "chains are requested"
run --wisdom fused.wisdom --set precision.deterministic=false
grep -q '^conv-[a-z]*+bias' fused.wisdom && grep -q '^conv-[a-z]*+statistics' fused.wisdom || fail "no chain of both kinds"
DLX_DEBUG=$(debug skip=chains) run --wisdom plain.wisdom --set precision.deterministic=false
grep '^conv-[a-z]*+' plain.wisdom && fail "a chain"
[ "$(convolutions plain.wisdom)" -gt 0 ] || fail "nothing is measured"

# One file serves the checks of ops and of convolutions too: the second process neither measures nor compiles, and has the same engines.
optest=$DLX_BUILD/test/gpu/optest_emulated conv_checks=$DLX_BUILD/test/gpu/conv_checks_emulated
unset DLX_FAKE_CUDNN_QUESTIONS
export DLX_FAKE_CUDNN_PROPOSE=43,44
# Kernels of dlx's are left out: to measure them takes the time of their emulation, more than there is for measuring.
DLX_DEBUG=$(debug way=parts)
# twice FILE PROGRAM ARGUMENT...
twice() {
	file=$1
	shift
	rm -f compiled used
	expect 0 capped "$@"
	[ "$(lines compiled)" -gt 0 ] || fail "$1 compiles nothing"
	[ "$(convolutions "$file")" -gt 0 ] || fail "$1 leaves no engine in its file"
	cp "$file" before
	rm -f compiled used
	expect 0 capped "$@"
	[ "$(lines compiled)" = 0 ] || fail "$1 compiles $(lines compiled) engines again"
	cmp before "$file" || fail "$1 measures again"
}
conv='2x8x9x9 8x8x3x3! ; pad_lo: 1, pad_hi: 1'
twice ops "$optest" --device=cuda --kernels --wisdom=ops conv
twice checks "$conv_checks" --wisdom=checks f32 conv "$conv"
echo nonsense >damaged
expect 1 capped "$conv_checks" --wisdom=damaged f32 conv "$conv"
says out damaged
expect 1 capped "$optest" --device=cuda --kernels --wisdom=damaged conv
says err damaged
[ "$(cat damaged)" = nonsense ] || fail "a damaged file is changed"
pass
