#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The memory map of --plan: what is in use at one node does not overlap, the highest place ends where the arena does, views and windows
# stand in what they are of; as a table, as JSON and as a picture, which is XML whatever the run is called.
. "${DLX_SOURCE:?}/test/lib.sh"
DLX_DEBUG=$(debug trials=no) # none of it is about time
cp "$DLX_SOURCE/test/train/tiny.yaml" .

plan() {
	expect 0 "$train" --set 'model.input={channels: 2, size: [24, 32]}' --set model.classes=3 --set data.validation=null --set train.batch_size=8 "$@" tiny.yaml
}

# Reads the table in ./out; says what is wrong in ./wrong, and how many rows of each kind it has seen in ./rows.
check_map() {
	awk '
	function wrong(text) { print FNR ": " text >"wrong" }
	/^memory map .* an arena of [0-9]+ bytes/ { inside = 1; arena = $6 }
	inside && /^$/ { inside = 0 }
	!inside || !($1 ~ /^%/ || $1 == "workspace") { next }
	$2 == "-" { stored++; if ($7 !~ /^(input|constant|parameter|state)$/) wrong("stored as " $7); next }
	$7 !~ /^(forward|backward|gradient|update|workspace)$/ { wrong("used for " $7) }
	$2 + $4 > $3 || $5 > $6 { wrong("ends before it begins") }
	/, channels [0-9]+\.\.[0-9]+ of %[0-9]+$/ || /, a view of %[0-9]+$/ {
		parts++
		of[parts] = $NF; part_offset[parts] = $2; part_end[parts] = $2 + $4; part_first[parts] = $5; part_last[parts] = $6
		next
	}
	{
		n++
		name[n] = $1; offset[n] = $2; end[n] = $3; first[n] = $5; last[n] = $6
		over[n] = / in place of %[0-9]+$/ ? $NF : ""
		id[$1] = n
		top = $3 > top ? $3 : top
		overs += over[n] != ""
		workspaces += $1 == "workspace"
	}
	END {
		for (i = 1; i <= n; i++)
			for (k = 1; k < i; k++) {
				if (offset[i] >= end[k] || offset[k] >= end[i] || first[i] > last[k] || first[k] > last[i])
					continue
				a = first[i] < first[k] ? i : k
				b = i + k - a
				if (over[b] != name[a] || first[b] != last[a] || offset[a] != offset[b])
					wrong(name[i] " and " name[k] " overlap")
			}
		for (i = 1; i <= parts; i++) {
			r = id[of[i]]
			if (!r || part_offset[i] < offset[r] || part_end[i] > end[r] || part_first[i] < first[r] || part_last[i] > last[r])
				wrong("a part of " of[i] " is not in it")
		}
		if (top != arena)
			wrong("the highest place ends at " top ", the arena at " arena)
		print n + 0, parts + 0, overs + 0, workspaces + 0, stored + 0, arena
	}' out >rows
	[ ! -s wrong ] || { cat out wrong; fail "the memory map of: $*"; }
	read -r places parts overs workspaces stored arena <rows
	[ "$places" -gt 30 ] && [ "$stored" -gt 20 ] || fail "a map of $places places: $*"
}

(plan --plan --set train.memory.limit=1KiB) >/dev/null
limit=$(least_limit)
for how in model.dropout=0.2 train.accumulate=2 train.memory.limit=$limit device=reference 'optimizer={type: lamb, learning_rate: 0.01}'; do
	rm -f wrong
	plan --plan --set "$how"
	check_map "$how"
	# The nodes' list has the same offsets, and 'state' for states alone.
	grep -q '^ *[0-9]* *forward  *conv .* [0-9][0-9]* *[0-9][0-9]* *[0-9.]*  ' out || fail "no offset of a convolution: $how"
	[ "$(awk '/^ *node  phase/ { inside = 1 } /^$/ { inside = inside && !$0 ? 0 : inside } inside && / conv .* state /' out | wc -l)" -eq 0 ] ||
		fail "a convolution makes a state: $how"
done
plan --plan
check_map alone
[ "$parts" -gt 4 ] && [ "$overs" -gt 0 ] && [ "$workspaces" -gt 0 ] || fail "no windows, takeovers or workspaces: $(cat rows)"

plan --plan=json
[ "$(grep -c '{"use": "[a-z]*", "offset": ' out)" -eq $((places + parts)) ] || fail "JSON has other places than the table"
[ "$(grep -c '{"use": "[a-z]*", "bytes": ' out)" -eq "$stored" ] || fail "JSON has other values that are stored"
says out "\"memory_map\": {\"bytes\": $arena, \"peak\": "
! command -v python3 >/dev/null || python3 -m json.tool out >/dev/null || fail "that is no JSON"

plan --plan=svg --set 'run.name="a<b> & \"c\""'
says out 'a&lt;b&gt; &amp; &quot;c&quot;'
says out 'fullest at node'
says out 'node of the schedule'
says out 'offset in the arena (MiB)'
[ "$(grep -c '<rect .*<title>' out)" -eq "$places" ] || fail "the picture has other places than the table"
! grep -qi 'nan\|inf[^o]' out || fail "something in the picture goes nowhere"
! command -v xmllint >/dev/null || xmllint --noout out || fail "the picture is no XML"
expect 64 "$train" --plan=png tiny.yaml
says err 'expected text, json, dot or svg'
pass
