#!/bin/bash
# The example learns rendered digits, and the int8 model that it writes does as well.
set -euo pipefail
lenet5=$1
infer=$2

accuracy() { awk '{ for (i = 1; i < NF; ++i) if ($i == "accuracy") print $(i + 1) }'; }
fail() { echo "$1" >&2; exit 1; }

"$lenet5" digits:4000 "$TEST_TMPDIR/lenet5" > "$TEST_TMPDIR/trained"
cat "$TEST_TMPDIR/trained"
trained=$(accuracy < "$TEST_TMPDIR/trained")
awk -v a="$trained" 'BEGIN { exit !(a > 90) }' || fail "accuracy $trained; want above 90 %"
grep -q "once" "$TEST_TMPDIR/trained" || fail "the int8 model was not written"

"$infer" "$TEST_TMPDIR/lenet5.pdmodel" --params="$TEST_TMPDIR/lenet5.pdiparams" \
  --data=digits:4000 > "$TEST_TMPDIR/inferred"
cat "$TEST_TMPDIR/inferred"
inferred=$(accuracy < "$TEST_TMPDIR/inferred")
awk -v a="$trained" -v b="$inferred" 'BEGIN { exit !(a == 100 * b) }' ||
  fail "the int8 model has $inferred and training saw $trained; want the same"
