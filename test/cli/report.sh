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

begin "speed and learning of made-up runs"
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

begin "against another run; a metric that falls"
expect 0 "$report" --json --base two --target loss=0.1 one two
number one speed_up 1
number two speed_up 2
number one target_samples 120
number two target_samples 240
number one learning_speed_up 2
expect 0 "$report" --json --target train_loss=0.5 one
number one target_samples 40

begin "the table and the picture"

expect 0 "$report" --target mean_iou=0.5 --svg all.svg one two four
says out 'one *'
says out 'target: mean_iou >= 0.5'
grep -q '^four .* 80.0 % .* - ' out || { cat out; fail "the table's line of 'four'"; }
[ "$(grep -c '<polyline' all.svg)" -eq 18 ] || fail "the picture has $(grep -c '<polyline' all.svg) curves"
! command -v xmllint >/dev/null || xmllint --noout all.svg || fail "the picture is no XML"
grep -qi 'nan\|inf' all.svg && fail "a curve in the picture goes nowhere"
expect 0 "$report" one
grep -q learning out && fail "there is no target, but columns about it"

begin "best, last and progress of each run; a metric that was not finite"
made peaked 1 0.5 '0.2 0.9 0.5'
made undefined 1 0.5 '0.1 0.2 null'
expect 0 "$report" one peaked undefined
says out 'best mean_iou'
grep -q '^one  *0.7  *20  *0.7  *20$' out || grep -q '^one  *0.7  *20  *0.7  *20 ' out || { cat out; fail "the best of 'one'"; }
grep -q '^peaked  *0.9  *8  *0.5  *12 ' out || grep -q '^peaked  *0.9  *8  *0.5  *12$' out || { cat out; fail "the best of 'peaked'"; }
grep -q '^undefined  *0.2  *8  *nan  *12' out || { cat out; fail "the last value is not reported as undefined"; }
expect 0 "$report" -m loss one peaked
grep -q '^peaked  *0.08333  *12 ' out || { cat out; fail "a loss does not fall to its best"; }
expect 0 "$report" -m 'iou[1]' peaked
grep -q '^peaked  *0.2  *4 ' out || { cat out; fail "the first of equal values is not the best"; }
expect 0 "$report" one peaked
grep -q 'speed-up' out && fail "runs on one rank have a table of speed"
[ "$(grep -c 'samples/s' out)" -eq 1 ] || fail "no rate next to what was learned"
expect 0 "$report" one two
says out 'speed-up'

begin "keys that differ"
# configured NAME FROM TEXT: the run FROM with this config.
configured() {
	mkdir -p "$1"
	cp "$2/metrics.jsonl" "$1"
	echo "$3" >"$1/config.yaml"
}
configured a1 one '{run: {name: a1, dir: x, seed: 1}, optimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9}, train: {steps: 20}}'
configured a2 peaked '{run: {name: a2, dir: y, seed: 2}, optimizer: {type: sgd, learning_rate: 1e-1, momentum: 0.9}, train: {steps: 20}}'
configured b one '{run: {name: b, dir: z, seed: 1}, optimizer: {type: adam, learning_rate: 0.01, epsilon: 1e-8}, train: {steps: 40}}'
expect 0 "$report" --no-pool a1 b
for key in optimizer.type learning_rate; do
	grep -q "^run .* $key" out || { cat out; fail "no column for the key $key"; }
done
grep -q '^a1 .* sgd  *0.1  *20 ' out || { cat out; fail "the values of a1"; }
grep -q '^b .* 20/40  *adam  *0.01  *20 ' out || { cat out; fail "the values of b"; }
says out '3 more keys differ: train.steps, momentum, epsilon'
grep -q 'seed' out && fail "a seed that is the same is listed"
[ "$(awk '{ if (length($0) > 100) print }' out | wc -l)" -eq 0 ] || { cat out; fail "a table of more than 100 columns"; }

begin "seeds are pooled"
# Seeds: the mean of 0.7 and 0.9 with the deviation of a sample; the same seed twice is no second sample.
expect 0 "$report" a1 a2 b
grep -q '^a1 (2 seeds)  *0.80 +/- 0.14  *14  *0.60 +/- 0.14  *12/20 ' out || { cat out; fail "two seeds in one row"; }
[ "$(grep -c '^a' out)" -eq 1 ] || fail "a pooled run has a row of its own"
grep -q 'seed$\|seed ' out && fail "the pooled seed is a key that differs"
expect 0 "$report" --no-pool a1 a2
[ "$(grep -c '^a[12] ' out)" -eq 2 ] || fail "--no-pool pools"
grep -q '^run .* seed' out || fail "the seed is not listed, though nothing else differs"
configured a3 two '{run: {name: a3, dir: x, seed: 1}, optimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9}, train: {steps: 20}}'
expect 0 "$report" a1 a3
grep -q 'seeds' out && fail "runs of one seed are pooled"
expect 0 "$report" --json a1 a2 b
says out '"metric": "mean_iou"'
says out '"pools": [{"members": ["a1", "a2"], "best": {"n": 2, "mean": 0.8, "deviation": 0.14142135623730'
says out '"config": {"optimizer.learning_rate": 0.01, '
says out '"optimizer.momentum": null'
says out '"mean_iou": {"best": 0.9, "best_step": 8, "last": 0.5, "last_step": 12}'
says out '"step": 12, "steps": 20'
expect 0 "$report" --target mean_iou=0.8 a1 a2 b
grep -q '^a1 (2 seeds) \*.* 6 s (1)  *80 (1) ' out || { cat out; fail "a mean over one of two seeds without its count"; }

begin "the order of keys"
# How a run is watched says less than what it learns with, however many values it has.
for run in 1 2 3; do
	configured v$run one "{run: {seed: 1}, train: {validate: {steps: $run}}, optimizer: {learning_rate: 0.$((run / 2))}}"
done
expect 0 "$report" v1 v2 v3
grep -q '^run .* learning_rate  validate.steps  ' out || { cat out; fail "the order of keys"; }

begin "more keys than there is room for"
many() {
	echo "{run: {seed: $1}, model: {family: layers}, data: {$(for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf 'a_long_name_of_a_key_%d: %d, ' "$i" "$1"; done) z: 0}}"
}
configured m1 one "$(many 1)"
configured m2 one "$(many 2)"
expect 0 "$report" m1 m2
grep -q '^1[01] more keys differ: a_long_name_of_a_key_[0-9]*, .*, \.\.\. (--json has all)$' out || { cat out; fail "the rest of the keys is not counted"; }
expect 0 "$report" --json m1 m2
says out '"data.a_long_name_of_a_key_12": 2'

begin "the metric that decides, from the run, or from its config"
mkdir -p says
sed '1s/"step": 0,/& "metric": "loss",/' peaked/metrics.jsonl >says/metrics.jsonl
expect 0 "$report" says
says out 'best loss'
expect 0 "$report" peaked says
says out 'best loss'
configured older peaked '{train: {target: {metric: loss, at_most: 0.5}}}'
expect 0 "$report" older
says out 'best loss'
configured older peaked '{checkpoint: {metric: loss}, train: {target: {metric: mean_iou, at_least: 0.5}}}'
expect 0 "$report" older
says out 'best loss'

begin "damaged and incomplete runs"
# A run that was resumed from step 8, by a dlx that did not cut the file; one without validations; one that is being started; one
# whose losses are not finite.
mkdir -p resumed bare begun diverged
{
	sed '/{"type": "step", "st$/d' peaked/metrics.jsonl
	sed -n '1s/"step": 0/"step": 8/p' peaked/metrics.jsonl
	grep '"step": 9,' peaked/metrics.jsonl
} >resumed/metrics.jsonl
grep -v 'validation\|"st$' peaked/metrics.jsonl >bare/metrics.jsonl
: >begun/metrics.jsonl
echo '{run: {name: begun}}' >begun/config.yaml
sed 's/"loss": [^,]*/"loss": null/' peaked/metrics.jsonl >diverged/metrics.jsonl
expect 0 "$report" resumed bare begun diverged
grep -q '^resumed  *0.9  *8  *0.9  *9 ' out || { cat out; fail "what a resumed run repeats is not replaced"; }
says out 'resumed was started 2 times'
says out 'bare has no validation'
says out 'begun has made no step yet'
grep -q '^begun  *-  *-  *-  *0 ' out || { cat out; fail "a run without steps"; }
expect 0 "$report" bare
says out 'best train_loss'
grep -q '^bare  *0.1667  *12  *0.1667  *12' out || { cat out; fail "a run without validations"; }
expect 0 "$report" -m train_loss diverged
grep -q '^diverged  *-  *-  *nan  *12' out || { cat out; fail "losses that are not finite"; }
expect 0 "$report" --json begun diverged
expect 0 "$report" --svg none.svg begun

begin "the picture: logarithmic axes, a series of the steps, a band of seeds, the best point"
expect 0 "$report" --log-y -m learning_rate --svg rate.svg one two
says rate.svg '>learning_rate</text>'
says rate.svg '>loss (dashed: validation)</text>'
grep -q '<polygon' rate.svg && fail "a band without seeds"
[ "$(grep -c '<circle' rate.svg)" -eq 4 ] || fail "not one best point a run in the panels of the loss"
[ "$(grep -c 'dasharray="6 3"' rate.svg)" -eq 4 ] || fail "the losses of validations are not dashed"
says rate.svg '>0.05</text>'
expect 0 "$report" --svg seeds.svg a1 a2
[ "$(grep -c '<polygon' seeds.svg)" -eq 6 ] || fail "not a band for each curve of pooled seeds"
says seeds.svg 'a1 (mean and deviation of 2 seeds)'
expect 0 "$report" --no-pool --svg seeds.svg a1 a2
grep -q '<polygon' seeds.svg && fail "--no-pool draws a band"
expect 0 "$report" --log-y -m mean_iou --svg log.svg diverged resumed bare begun
for picture in rate.svg seeds.svg log.svg none.svg; do
	grep -qi 'nan\|inf"' $picture && fail "a curve of $picture goes nowhere"
	! command -v xmllint >/dev/null || xmllint --noout $picture || fail "$picture is no XML"
done
expect 65 "$report" -m nothing one
says err "no run has the metric 'nothing'; there is: loss, mean_iou, iou[0...], train_loss, learning_rate, samples_per_second"

begin "other networks and other ranks are not compared"
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
grep -q 'not_compared\|no_efficiency' out && fail "runs of the same work are not compared"
expect 0 "$report" --speed base same two
grep -q 'is not compared\|has no efficiency' out && fail "runs of the same work are not compared"
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
	expect 0 "$report" --speed base other
	grep -q "^other has no efficiency: $text" out || { cat out; fail "no word on another $key"; }
	expect 0 "$report" --json --target mean_iou=0.5 base other
	number other speed_up 1
	number other efficiency null
	number other learning_speed_up 1
done

begin "a network of a thousand times the arithmetic, from a dlx that did not say more"
mkdir large
sed '1s/"sample_flops": 1e9/"sample_flops": 1e12/' one/metrics.jsonl >large/metrics.jsonl
expect 0 "$report" --speed one large
says out 'large is not compared: another network: 1e+12 flop for a sample, not 1e+09'

begin "what cannot be compared"
expect 64 "$report"
expect 64 "$report" --target mean_iou one
says err 'expected METRIC=VALUE'
expect 64 "$report" --base three one
expect 65 "$report" --target nothing=1 one
says err "no run has the metric 'nothing'"
expect 65 "$report" --svg x.svg --metric nothing one
expect 66 "$report" one nowhere
says err 'nowhere/metrics.jsonl'
mkdir -p empty
expect 66 "$report" one empty
says err "'empty' is not the folder of a run that has begun: there is no 'empty/metrics.jsonl'"
expect 66 "$report" one/metrics.jsonl
says err "'one/metrics.jsonl' is a file; expected the folder of a run"
mkdir old broken
echo '{"type": "step", "step": 1, "loss": 1}' >old/metrics.jsonl
expect 65 "$report" old
says err "no line of type 'start'"
{ head -n 3 one/metrics.jsonl && echo '{"type": '; } >broken/metrics.jsonl
expect 65 "$report" one broken
says err 'broken/metrics.jsonl'

begin "statistics of ranks: means by steps, the best step, the last rank named"
mkdir spread
{
	head -n 1 two/metrics.jsonl
	grep '"type": "step".*}$' two/metrics.jsonl
	for line in '10, 0.5, 0.2, 0.3, 0.4, 0.3, 0.6, 1, c1, 90' '30, 0.7, 0.4, 0.5, 0.6, 0.1, 0.8, 0, c0, 80'; do
		echo "$line" | awk -F ', ' '{
			printf "{\"type\": \"rates\", \"step\": 9, \"seconds\": 9, \"samples\": 9, \"sustained\": 30, \"best\": %s, \"ranks\": ", $10
			printf "{\"steps\": %s, \"step_seconds\": %s, \"work_min\": %s, \"work_median\": %s, \"work_max\": %s, ", $1, $2, $3, $4, $5
			printf "\"exposed\": %s, \"efficiency\": %s, \"slowest_rank\": %s, \"slowest_host\": \"%s\"}, ", $6, $7, $8, $9
			printf "\"data\": {\"read\": %s, \"sent\": 7, \"decoded\": %s, \"waited\": %s}}\n", $1, 2 * $1, $6 }'
		[ "$line" != "${line#30}" ] || head -n 1 two/metrics.jsonl
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
number spread data_read 40
number spread data_sent 14
number spread data_decoded 80
number spread data_waited 0.1
expect 0 "$report" one spread
says out '0 (c0) +22 %'
grep -q '^one .* - ' out || fail "a run on one rank has a slowest"

begin "real runs; the target is the config's"
coads_data
for batch in 1 2; do
	expect 0 "$train" --set run.dir=runs/$batch --set train.batch_size=$batch --set train.steps=16 \
		--set 'train.target={metric: accuracy, at_least: 0.999}' "$DLX_SOURCE/test/train/tiny.yaml"
done
expect 0 "$report" --speed --svg real.svg runs/1 runs/2
says out 'target: accuracy >= 0.999'
says out 'runs/2 has no efficiency: a batch of 2 on 1 ranks and of 1 on 1: the same neither for a rank nor in all'
expect 0 "$report" --json runs/1 runs/2
number runs/2 batch 2
expect 0 "$train" --set run.dir=runs/3 --set train.steps=4 --set model.growth=8 "$DLX_SOURCE/test/train/tiny.yaml"
expect 0 "$report" --speed runs/1 runs/3
grep -q 'runs/3 is not compared: another network: [0-9]* parameters, not 2984' out || { cat out; fail "a wider network is compared"; }

begin "the direction of a metric"
for name in mae rmse r2 top_5; do
	mkdir "$name"
	sed "s/mean_iou/$name/" one/metrics.jsonl >"$name/metrics.jsonl"
	expect 0 "$report" --target $name=0.5 $name
	case $name in mae | rmse) says out "target: $name <= 0.5" ;; *) says out "target: $name >= 0.5" ;; esac
done
pass
