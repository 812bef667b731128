#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-report --html: one file without script and without anything that is loaded, with the numbers of --json and the pictures of runs, and
# a browser that opens it has no complaint.
. "${DLX_SOURCE:?}/test/lib.sh"

# made DIR RANKS SEED SECONDS_OF_A_STEP: six validations, of which the first to reach 0.5 depends on all three.
made() {
	mkdir -p "$1"
	printf 'run: {name: made, seed: %s}\nmodel: {family: layers}\n' "$3" >"$1/config.yaml"
	awk -v ranks="$2" -v seed="$3" -v each="$4" 'BEGIN {
		batch = 10 * ranks
		printf "{\"type\": \"start\", \"step\": 0, \"name\": \"made\", \"ranks\": %d, \"hosts\": 1, \"threads\": 1, \"device\": \"cpu\", ", ranks
		printf "\"precision\": \"f32\", \"batch\": %d, \"samples\": 400, \"metric\": \"mean_iou\", \"model\": \"layers\", \"input\": \"2x8x8\", ", batch
		printf "\"plan\": \"0123456789abcdef\", \"parameters\": 1234, \"sample_flops\": 1e9, \"peak_flops\": 1e11, "
		printf "\"memory\": {\"planned\": 3000000, \"allocated\": 3000000, \"values\": 1500000, \"inputs\": 250000, \"arena\": 1250000}}\n"
		for (i = 1; i <= 24; i++) {
			t += each * (1 + seed / 100)
			printf "{\"type\": \"step\", \"step\": %d, \"epoch\": 1, \"loss\": %g, \"samples_per_second\": %.17g, ", i, 2 / i, batch / (each * (1 + seed / 100))
			printf "\"seconds\": %.17g, \"samples\": %d}\n", t, i * batch
			if (i % 4 == 0) {
				t += 0.5
				printf "{\"type\": \"validation\", \"step\": %d, \"epoch\": 1, \"seconds\": %.17g, \"samples\": %d, ", i, t, i * batch
				printf "\"loss\": %g, \"metrics\": {\"mean_iou\": %.17g}}\n", 1 / i, i / (30 + seed)
			}
		}
	}' >"$1/metrics.jsonl"
}
for seed in 1 2 3; do
	made "sweep/ranks=1,seed=$seed" 1 "$seed" 0.5
	made "sweep/ranks=2,seed=$seed" 2 "$seed" 0.6
done
echo '{"type": "sweep", "runs": 6, "metric": "mean_iou"}' >sweep/sweep.jsonl
mkdir "sweep/ranks=1,seed=1/predicted"
# A picture of one point.
printf '\211PNG\r\n\032\n\0\0\0\rIHDR\0\0\0\001\0\0\0\001\010\002\0\0\0\220wS\336\0\0\0\014IDATx\234c\370\317\300\0\0\003\001\001\0\311\376\222\357\0\0\0\0IEND\256B`\202' \
	>"sweep/ranks=1,seed=1/predicted/<one>.png"

# complete PAGE: it has no script, and nothing is loaded.
complete() {
	! grep -qi '<script' "$1" || fail "$1 has a script"
	! grep -o '\(src\|href\)="[^"]\{0,20\}' "$1" | grep -v '="data:' || fail "$1 loads something"
	! grep -o 'http[^" ]*' "$1" | grep -v '^http://www\.w3\.org/2000/svg$' || fail "$1 names something in the network"
}
expect 0 "$report" --target mean_iou=0.5 --json --html page.html --svg page.svg sweep
complete page.html
mv out json
# Every number of the runs and pools in the JSON is one of the page, to the last digit.
sed 's/.*"runs": \[//' json | grep -o '": -\{0,1\}[0-9][0-9.e+-]*' | sed 's/^": //' | sort -u >numbers
grep -o '<td[^>]*>[^<]*' page.html | sed 's/.*>//' | sort -u >cells
[ "$(wc -l <numbers)" -gt 60 ] || fail "the JSON has few numbers"
comm -23 numbers cells >lost
[ ! -s lost ] || { cat lost; fail "numbers that the page lacks"; }
for key in speed_up statistical_efficiency speed_up_times_statistical_efficiency learning_speed_up; do
	says page.html ">$key</th>"
	grep -q "\"$key\": [0-9]" json || fail "no $key in the JSON"
done
# 2 ranks of 0.6 s a step and twice the samples: 5/3 as fast; the target is reached at one step by all.
for text in '6 runs compared' 'Learning over ranks' 'speed-up (dotted: ideal)' '<polygon' 'Target: mean_iou &gt;= 0.5' '1.50 MB' '0123456789abcdef' \
	'&lt;one&gt;.png' 'data:image/png;base64,iVBOR' 'The whole config of sweep/ranks=1,seed=1' '>run.seed</th>'; do
	says page.html "$text"
done
! grep -qF '<one>' page.html || fail "a name is not escaped"
# The pictures of the page are those of the SVG file: all three figures with the same curves.
[ "$(grep -c '<polyline' page.svg)" -eq "$(grep -c '<polyline' page.html)" ] || fail "the SVG file has other pictures than the page"
grep '<polyline' page.svg >curves.svg
grep '<polyline' page.html | sort >curves.html
sort curves.svg | cmp - curves.html || fail "the SVG file has other curves"

# One run; and runs without a target, on one number of ranks.
expect 0 "$report" --html one.html "sweep/ranks=1,seed=2"
complete one.html
says one.html 'Run sweep/ranks=1,seed=2'
! grep -qF 'Learning over ranks' one.html || fail "one run has no ranks to compare"
expect 64 "$report" --html page.pdf sweep
mkdir none
echo '{}' >none/sweep.jsonl
expect 66 "$report" none

command -v chromium >/dev/null || skip "no browser (package chromium) opens the page"
# opened PAGE: what a browser without network complains of, in ./console.
opened() {
	HOME=$work capped chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" --host-resolver-rules='MAP * ~NOTFOUND' \
		--enable-logging=stderr --v=0 --window-size=1200,1600 --screenshot="$work/shot.png" "file://$work/$1" >log 2>&1 || {
		cat log
		fail "chromium does not open $1"
	}
	grep -E 'CONSOLE|Failed to load' log >console
}
for page in page one; do
	! opened $page.html || { cat console; fail "$page.html: the browser complains"; }
	[ "$(wc -c <shot.png)" -gt 20000 ] || fail "$page.html shows little"
done
# A page with a mistake is found.
sed 's,</body>,<script>undefined_name()</script></body>,' one.html >wrong.html
opened wrong.html || { cat log; fail "the browser does not complain of a wrong page"; }
pass
