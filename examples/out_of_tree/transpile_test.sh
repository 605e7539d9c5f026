#!/bin/sh
# A text program in, the expected programs out; without the edit log and the marks, which are for
# undo.
set -eu
got="$TEST_TMPDIR/got.txt"
startup="$TEST_TMPDIR/startup.txt"
./transpile testdata/program.txt testdata/config.textproto "$got" "$startup"
cat "$got" "$startup" |
  sed -e 's/^program .*/program/' -e 's/, fixpoint\.[a-z_]*=\("[^"]*"\|\[[^]]*\]\)//g' |
  diff -u testdata/expected.txt -
