#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-report: numbers that follow from made-up runs, a picture that is XML, runs of dlx-train, and what is wrong with a folder.
. "${DLX_SOURCE:?}/test/lib.sh"

# made NAME RANKS STEP_SECONDS SAMPLES METRIC...: ten samples a rank and step, a validation of one second each fourth step.
made() {
	mkdir -p "$1"
	awk -v name="$1" -v ranks="$2" -v each="$3" -v values="$4" 'BEGIN {
		n = split(values, v, " ")
		batch = 10 * ranks
		printf "{\"type\": \"start\", \"step\": 0, \"time\": 1, \"name\": \"%s\", \"ranks\": %d, \"hosts\": 1, \"threads\": 2, ", name, ranks
		printf "\"device\": \"cpu\", \"precision\": \"f32\", \"batch\": %d, \"samples\": 400, \"sample_flops\": 1e9, ", batch
		printf "\"peak_flops\": 1e11}\n"
		for (i = 1; i <= 4 * n; i++) {
			t += each
			printf "{\"type\": \"step\", \"step\": %d, \"epoch\": 1, \"loss\": %g, \"learning_rate\": 0.1, ", i, 2 / i
			printf "\"samples_per_second\": %g, \"seconds\": %g, \"samples\": %d}\n", batch / each, t, i * batch
			if (i % 4 == 0) {
				t += 1
				printf "{\"type\": \"validation\", \"step\": %d, \"epoch\": 1, \"seconds\": %g, \"samples\": %d, ", i, t, i * batch
				printf "\"loss\": %g, \"metrics\": {\"mean_iou\": %s, \"iou\": [0.1, 0.2]}}\n", 1 / i, v[i / 4]
			}
		}
		print "{\"type\": \"something else\", \"step\": 1}"
		printf "{\"type\": \"step\", \"st"
	}' >"$1/metrics.jsonl"
}
made one 1 0.5 '0.2 0.4 0.55 0.5 0.7'
made two 2 0.5 '0.3 0.6 0.7'
made four 4 0.625 '0.1 0.2 null'

# number RUN KEY VALUE
number() {
	value=$(sed 's/{"run"/\n&/g' out | sed -n "s|^{\"run\": \"$1\",.*\"$2\": \([^,}]*\).*|\1|p")
	awk -v a="$value" -v b="$3" 'BEGIN { exit !(a == b || (b != "null" && a != "null" && a - b < 1e-9 * b && b - a < 1e-9 * b)) }' || {
		cat out
		fail "$2 of $1 is $value, not $3"
	}
}
expect 0 "$report" --json --target mean_iou=0.5 one two four
says out '"base": "one", "target": {"metric": "mean_iou", "value": 0.5, "window": 1}'
number one samples_per_second 20
number one speed_up 1
number two samples_per_second 40
number two speed_up 2
number two efficiency 1
number four speed_up 3.2
number four efficiency 0.8
# 20 steps of half a second and five validations; 200 samples.
number one overall_samples_per_second 13.333333333333334
number one sustained_flops 13333333333.333334
number one peak_flops 20000000000
number one sustained_share_of_device 0.13333333333333333
number four sustained_share_of_device 0.11428571428571428
number one target_seconds 9
number one target_samples 120
number two target_seconds 6
number two target_samples 160
number two learning_speed_up 1.5
number two statistical_efficiency 0.75
number four target_seconds null
number four learning_speed_up null
expect 0 "$report" --json --target mean_iou=0.5 --window 2 one two
number one target_seconds 12
number two target_seconds 9
# Against another run; something that falls.
expect 0 "$report" --json --base two --target loss=0.1 one two
number one speed_up 1
number two speed_up 2
number one target_samples 120
number two target_samples 240
number one learning_speed_up 2
expect 0 "$report" --json --target train_loss=0.5 one
number one target_samples 40

expect 0 "$report" --target mean_iou=0.5 --svg all.svg one two four
says out 'one *'
says out 'target: mean_iou >= 0.5'
grep -q '^four .* 80.0 % .* - ' out || { cat out; fail "the table's line of 'four'"; }
[ "$(grep -c '<polyline' all.svg)" -eq 12 ] || fail "the picture has $(grep -c '<polyline' all.svg) curves"
! command -v xmllint >/dev/null || xmllint --noout all.svg || fail "the picture is no XML"
grep -qi 'nan\|inf' all.svg && fail "a curve in the picture goes nowhere"
expect 0 "$report" one
grep -q learning out && fail "there is no target, but columns about it"

# Runs that are not alike: of another network nothing is compared, on other ranks no efficiency.
# unlike NAME KEY VALUE: 'one' but for that.
unlike() {
	mkdir -p "$1"
	sed "1s/\"step\": 0,/& \"model\": \"fcn\", \"input\": \"5x45x62\", \"parameters\": 2984, \"forward_flops\": 1e7,/" \
		one/metrics.jsonl >"$1/metrics.jsonl"
	[ $# -eq 1 ] || sed -i "1s/\"$2\": [^,}]*/\"$2\": $3/" "$1/metrics.jsonl"
}
unlike base
unlike same name '"same"'
expect 0 "$report" --json --target mean_iou=0.5 base same two
number same efficiency 1
number two efficiency 1
grep -q 'not_compared\|no_efficiency' out && fail "runs that are alike are not compared"
expect 0 "$report" base same two
grep -q 'is not compared\|has no efficiency' out && fail "runs that are alike are not compared"
for case in 'model|"linear"|another network: .linear., not .fcn.' 'parameters|77|another network: 77 parameters, not 2984' \
	'input|"5x90x180"|other samples: 5x90x180, not 5x45x62' 'forward_flops|2e7|another network: 2e+07 flop forward'; do
	key=${case%%|*}
	text=${case##*|}
	value=${case#*|}
	unlike other "$key" "${value%|*}"
	expect 0 "$report" --target mean_iou=0.5 base other
	grep -q "^other is not compared: $text" out || { cat out; fail "no word on another $key"; }
	grep -q '^other  .* 20  *-  *-  *13.3' out || { cat out; fail "another $key is compared"; }
	expect 0 "$report" --json --target mean_iou=0.5 base other
	grep -q "\"not_compared\": \"$text" out || { cat out; fail "no word on another $key in JSON"; }
	for column in speed_up efficiency learning_speed_up statistical_efficiency; do
		number other $column null
	done
done
for case in 'device|"cuda"|device .cuda., not .cpu.' 'precision|"bf16"|computed in bf16, not f32' 'threads|4|4 threads of a rank, not 2' \
	'batch|30|a batch of 30 on 1 ranks and of 10 on 1'; do
	key=${case%%|*}
	text=${case##*|}
	value=${case#*|}
	unlike other "$key" "${value%|*}"
	expect 0 "$report" base other
	grep -q "^other has no efficiency: $text" out || { cat out; fail "no word on another $key"; }
	expect 0 "$report" --json --target mean_iou=0.5 base other
	number other speed_up 1
	number other efficiency null
	number other learning_speed_up 1
done
# A network of a thousand times the arithmetic, from a dlx that did not say more.
mkdir large
sed '1s/"sample_flops": 1e9/"sample_flops": 1e12/' one/metrics.jsonl >large/metrics.jsonl
expect 0 "$report" one large
says out 'large is not compared: another network: 1e+12 flop for a sample, not 1e+09'

# What cannot be compared.
expect 64 "$report"
expect 64 "$report" --target mean_iou one
says err 'expected METRIC=VALUE'
expect 64 "$report" --base three one
expect 65 "$report" --target nothing=1 one
says err "no run has the metric 'nothing'"
expect 65 "$report" --svg x.svg --metric nothing one
expect 66 "$report" one nowhere
says err 'nowhere/metrics.jsonl'
mkdir old broken
echo '{"type": "step", "step": 1, "loss": 1}' >old/metrics.jsonl
expect 65 "$report" old
says err "no line of type 'start'"
{ head -n 3 one/metrics.jsonl && echo '{"type": '; } >broken/metrics.jsonl
expect 65 "$report" one broken
says err 'broken/metrics.jsonl'

# What ranks say of themselves: means by steps, the best step, the last rank named.
mkdir spread
{
	head -n 1 two/metrics.jsonl
	grep '"type": "step".*}$' two/metrics.jsonl
	for line in '10, 0.5, 0.2, 0.3, 0.4, 0.3, 0.6, 1, c1, 90' '30, 0.7, 0.4, 0.5, 0.6, 0.1, 0.8, 0, c0, 80'; do
		echo "$line" | awk -F ', ' '{
			printf "{\"type\": \"rates\", \"step\": 9, \"seconds\": 9, \"samples\": 9, \"sustained\": 30, \"best\": %s, \"ranks\": ", $10
			printf "{\"steps\": %s, \"step_seconds\": %s, \"work_min\": %s, \"work_median\": %s, \"work_max\": %s, ", $1, $2, $3, $4, $5
			printf "\"exposed\": %s, \"efficiency\": %s, \"slowest_rank\": %s, \"slowest_host\": \"%s\"}}\n", $6, $7, $8, $9 }'
	done
} >spread/metrics.jsonl
expect 0 "$report" --json one spread
number spread peak_flops 90000000000
number spread step_seconds 0.65
number spread work_min 0.35
number spread work_median 0.45
number spread work_max 0.55
number spread exposed 0.15
number spread efficiency_of_ranks 0.75
number spread slowest_rank 0
expect 0 "$report" one spread
says out '0 (c0) +22 %'
grep -q '^one .* - ' out || fail "a run on one rank has a slowest"

# Real runs; the target is the config's.
coads_data
for batch in 1 2; do
	expect 0 "$train" --set run.dir=runs/$batch --set train.batch_size=$batch --set train.steps=16 \
		--set 'train.target={metric: accuracy, at_least: 0.999}' "$DLX_SOURCE/test/train/tiny.yaml"
done
expect 0 "$report" --svg real.svg runs/1 runs/2
says out 'target: accuracy >= 0.999'
says out 'runs/2 has no efficiency: a batch of 2 on 1 ranks and of 1 on 1: the same neither for a rank nor in all'
expect 0 "$report" --json runs/1 runs/2
number runs/2 batch 2
expect 0 "$train" --set run.dir=runs/3 --set train.steps=4 --set model.growth=8 "$DLX_SOURCE/test/train/tiny.yaml"
expect 0 "$report" runs/1 runs/3
grep -q 'runs/3 is not compared: another network: [0-9]* parameters, not 2984' out || { cat out; fail "a wider network is compared"; }

# Which way a metric gets better.
for name in mae rmse r2 top_5; do
	mkdir "$name"
	sed "s/mean_iou/$name/" one/metrics.jsonl >"$name/metrics.jsonl"
	expect 0 "$report" --target $name=0.5 $name
	case $name in mae | rmse) says out "target: $name <= 0.5" ;; *) says out "target: $name >= 0.5" ;; esac
done
pass
