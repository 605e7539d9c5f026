#!/bin/sh
# transpile_test.sh TRANSPILE [FLAG...]: a text program in, the expected programs out; without the
# edit log and the marks, which are for undo. The pass runs before the quantizers are planned.
set -eu
testdata=$(dirname "$0")/testdata
got="$TEST_TMPDIR/got.txt"
startup="$TEST_TMPDIR/startup.txt"
"$@" --config="$testdata"/config.textproto --output="$got" --startup_output="$startup" \
  --pass_pipeline=drop_callstacks,plan_quantizers,insert_quantizers,initialize_state \
  "$testdata"/program.txt
cat "$got" "$startup" |
  sed -e 's/^program .*/program/' -e 's/, fixpoint\.[a-z_]*=\("[^"]*"\|\[[^]]*\]\)//g' |
  diff -u "$testdata"/expected.txt -

# The target's check keeps a product float, and says why.
"$@" --target="$testdata"/few_terms.textproto --explain --dry_run "$testdata"/wide.txt |
  grep 'kept_by_check.*sums_fit: its sums have 4096 terms; the target adds 1024'
