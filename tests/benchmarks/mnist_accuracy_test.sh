#!/bin/bash
# The table of accuracies on MNIST, for one seed and few epochs: LeNet-5 learns in float, loses
# little with quantizers, and at 4 bits less with training than without.
set -euo pipefail
mnist_accuracy=$1
mnist=$TEST_SRCDIR/reference_data/data/mnist

if [ ! -e "$mnist" ]; then
  echo "no reference data beside this checkout (FIXPOINT_REFERENCE_DATA): data/mnist" >&2
  echo '<testsuites><testsuite><testcase name="mnist_accuracy"><skipped/></testcase></testsuite></testsuites>' \
    > "$XML_OUTPUT_FILE"
  exit 0
fi
"$mnist_accuracy" "$mnist" 1 6 2 moving_average_abs_max > "$TEST_TMPDIR/table"
cat "$TEST_TMPDIR/table"

# The mean of a row, by its name.
mean() {
  awk -F '|' -v row="$1" '{ gsub(/^ +| +$/, "", $2) } $2 == row { print $3 + 0 }' \
    "$TEST_TMPDIR/table"
}
want() { awk "BEGIN { exit !($1) }" || { echo "want $1" >&2; exit 1; }; }

float=$(mean "float")
want "$float >= 98.5"
want "$(mean "8 bits, moving_average_abs_max") >= $float - 0.2"
want "$(mean "4 bits, moving_average_abs_max") >= $float - 0.5"
signed="4 bits, moving_average_abs_max, signed"
want "$(mean "$signed") >= $(mean "$signed, not trained") + 0.3"
