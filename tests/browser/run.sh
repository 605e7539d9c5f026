#!/bin/sh
# Runs browser.py where `bazel run` put what it needs.
runfiles=${RUNFILES_DIR:-$0.runfiles}
[ ! -d "$runfiles/fixpoint" ] || cd "$runfiles/fixpoint" || exit 1
exec /usr/bin/python3 tests/browser/browser.py "$@"
