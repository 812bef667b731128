#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What dlx-config(5) writes in FROM PYTORCH TO DLX next to PyTorch's words is dlx's: every layer, loss, optimizer, schedule, metric and
# transform of its right columns is read without a word about a key, a type or a value.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
sed -n '/^\.Sh FROM PYTORCH/,/^\.Sh SEE/p' "$DLX_SOURCE/man/dlx-config.5" >page

# rows SECTION: the right columns of a subsection's blocks, or the indented lines below.
rows() {
	sed -n "/^\.Ss $1/,/^\.Ss/p" page | awk '/^\.Ed/ { on = 0 } on && match($0, /  +[^ ]/) {
		print substr($0, RSTART + RLENGTH - 1) } /^\.Bd/ { on = 1 }'
}

# reads TEXT: the config x.yaml has no mistake of words; shapes may not fit.
reads() {
	"$train" --check x.yaml >out 2>err
	grep -v "layer 'loss'" err | grep -e 'unknown' -e 'missing key' -e 'must be' -e 'expected' -e 'syntax' && fail "in dlx-config(5): $1"
	n=$((n + 1))
}

# config LAYER LOSS OPTIMIZER SCHEDULE TRANSFORM
config() {
	cat >x.yaml <<Y
model:
  family: layers
  classes: 4
  layers:
    - conv2d: {filters: 4, kernel: 1, name: a}
    - conv2d: {filters: 4, kernel: 1, name: b}
    - relu: {name: x}
    $1
data: {train: data/coads-train.dlx, transforms: [${5:-}]}
loss: $2
optimizer: $3
schedule: $4
train: {epochs: 100}
Y
}

n=0
ce=softmax_cross_entropy
rows Layers >layers
rows Losses | sed 's/\(weights*\): w/\1: [1, 2, 3, 4]/; s/, l1$//' >losses
rows Metrics | sed 's/, /\n/g' >metrics
rows Optimizers | grep -v -e clip_norm -e compute: >optimizers
rows Data | sed 's/\[\.\.\.\]/[1, 1, 1, 1]/g' | grep '^- ' | sed 's/^- //; s/.*/{&}/; s/{cast}/cast/' >transforms
while read -r row; do config "$row" $ce sgd constant; reads "$row"; done <layers
while read -r row; do config '- relu' "$row" sgd constant; reads "$row"; done <losses
while read -r row; do
	case $row in
	*'type: sgd'* | *'type: adam'*) config '- relu' $ce "$row" constant ;;
	*) config '- relu' $ce sgd "$row" ;;
	esac
	reads "$row"
done <optimizers
while read -r row; do config '- relu' $ce sgd constant "$row"; reads "$row"; done <transforms
while read -r row; do
	config '- relu' $ce sgd constant
	echo "metrics: [$row]" >>x.yaml
	reads "$row"
done <metrics
[ "$(wc -l <metrics)" -ge 12 ] || fail "too few metrics"
[ "$n" -ge 25 ] || fail "only $n rows"
pass
