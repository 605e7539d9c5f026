#!/bin/bash
# An example learns rendered digits, and the int8 models that it writes do as well:
#   example_test.sh INFER DATA FLOOR EXAMPLE [ARGUMENTS OF THE EXAMPLE BETWEEN DATA AND OUTPUT]
set -euo pipefail
infer=$1
data=$2
floor=$3
example=$4
shift 4

accuracy() { awk '{ for (i = 1; i < NF; ++i) if ($i == "accuracy") print $(i + 1) }'; }
fail() { echo "$1" >&2; exit 1; }

"$example" "$data" "$@" "$TEST_TMPDIR/model" > "$TEST_TMPDIR/trained"
cat "$TEST_TMPDIR/trained"
trained=$(accuracy < "$TEST_TMPDIR/trained")
awk -v a="$trained" -v floor="$floor" 'BEGIN { exit !(a > floor) }' ||
  fail "accuracy $trained; want above $floor %"
grep -q "once" "$TEST_TMPDIR/trained" || fail "the int8 model was not written"

for model in model model.lowered; do
  "$infer" "$TEST_TMPDIR/$model.pdmodel" --params="$TEST_TMPDIR/$model.pdiparams" \
    --data="$data" > "$TEST_TMPDIR/inferred"
  cat "$TEST_TMPDIR/inferred"
  inferred=$(accuracy < "$TEST_TMPDIR/inferred")
  awk -v a="$trained" -v b="$inferred" 'BEGIN { exit !(a == b) }' ||
    fail "$model has $inferred and training saw $trained; want the same"
done
