#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What comes from a file or a command line is shown, not obeyed: no control character, no change of the direction of
# writing and no byte that is not UTF-8 reaches the terminal, whatever prints it.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
esc=$(printf '\033]0;title\007\033[2J')
turn=$(printf 'x\342\200\256dlx.exe')     # U+202E
c1=$(printf '\302\233')                   # U+009B, which some terminals take for ESC [

"$python" - <<'P' || fail "no arrays"
import numpy as np
np.save("x.npy", np.arange(24, dtype="f4").reshape(2, 3, 2, 2))
np.save("y.npy", np.zeros((2, 2, 2), "u1"))
P
source="$esc$turn$(printf '\377').npy"
cp x.npy "$source"

# clean COMMAND...: nothing that a terminal obeys in what it prints; out and err keep it.
clean() {
	"$@" >out 2>err
	cat out err | LC_ALL=C tr -d '\n\t' >printed
	if LC_ALL=C grep -q "$(printf '[\001-\037\177\377]')" printed || grep -qF -e "$c1" -e "$(printf '\342\200\256')" printed; then
		od -c printed | head -n 40
		fail "control characters in what this prints: $*"
	fi
}

clean "$convert" -i "$source" -t y.npy --labels --channel-names "$esc,$turn,$c1" --class-names "a$esc,b
c" -o "$turn.dlx"
[ -f "$turn.dlx" ] || { cat out err; fail "no record"; }
clean "$inspect" "$turn.dlx"
says out '\x1b]0;title\x07\x1b[2J'
says out 'x\u202edlx.exe'
says out '\u009b'
says out 'b\nc'
clean "$inspect" --json "$turn.dlx"
"$python" - "$esc" <<'P' || fail "the JSON is not that of the record"
import json, sys
d = json.load(open("out"))["description"]
assert d["arrays"][0]["channels"][0] == sys.argv[1], d
P
clean "$inspect" --verify --png "$turn-pictures" "$turn.dlx"
clean "$inspect" "$esc"
clean "$convert" -i "$esc" -t "$c1" -o x.dlx
clean "$convert" -i x.npy -t y.npy --layout "$esc" -o x.dlx
clean "$convert" "--$esc"

cat >config.yaml <<Y
run: {name: "\e]0;title\a\u202E"}
model: {family: layers, layers: [{conv2d: {filters: 2, kernel: 1}}]}
data: {train: "$turn.dlx", validation: "$turn.dlx"}
loss: {type: softmax_cross_entropy}
metrics: [accuracy, iou]
train: {epochs: 1, batch_size: 2}
Y
for command in --check --plan --plan=json --plan=dot '--plan --dump=all' '--bench=2 --profile'; do
	clean "$train" --set run.name=x $command config.yaml
done
clean "$train" config.yaml
clean "$train" --set 'model.layers=[{relu: {name: "\e[2J\u009B"}}]' config.yaml
says err 'cannot be a name'
clean "$train" --set "run.dir=$turn" --set "run.name=x" config.yaml
[ -d "$turn" ] || { cat out err; fail "no run"; }
clean "$train" --set "run.dir=$turn" --set run.name=x config.yaml
clean "$train" --set "run.dir=$turn" --set run.name=x --evaluate config.yaml
clean "$train" --set "run.dir=$turn" --set run.name=x --predict "$turn.dlx" -o "$esc.npy" config.yaml
clean "$train" --set "run.dir=$turn" --set run.name=x --set train.epochs=2 --resume config.yaml
for config in "$esc.yaml" "$turn.yaml"; do
	printf 'run: {nmae: "\033[2J"}\nmodel: \302\233\n' >"$config"
	clean "$train" --check "$config"
	clean "$train" "$config$c1.yaml"
	clean "$train" --set "$esc=$turn" "$config"
done
clean "$report" "$turn"
clean "$report" --json "$turn" --svg "$turn.svg"
grep -qF -e "$(printf '\342\200\256')" "$turn.svg" && fail "the picture turns its text"
clean "$report" "$esc" --base "$turn"
pass
