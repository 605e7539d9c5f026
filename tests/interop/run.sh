#!/bin/sh
# Makes a virtual environment with PaddlePaddle, once, and runs the tests in it. The last line is
# "N passed, N failed[, N skipped]"; the exit code is 1 where a test failed. Where PaddlePaddle
# cannot be had, every part is skipped.
set -u

here=$(dirname "$0")
runfiles=${RUNFILES_DIR:-$0.runfiles}
[ ! -d "$runfiles" ] || { cd "$runfiles/fixpoint" && here=tests/interop; } || exit 1
requirements=$here/requirements.txt

skip() {
  echo "PaddlePaddle cannot be had: $1" >&2
  echo "0 passed, 0 failed, 12 skipped"
  exit 0
}

python=
for candidate in python3.11 python3.12 python3.10 python3.9 python3; do
  if "$candidate" -c '
import sys, venv
sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null &&
    "$candidate" -m pip --version >/dev/null 2>&1; then
    python=$candidate
    break
  fi
done
[ -n "$python" ] || skip "no Python 3.9 to 3.12 with venv and pip is on the PATH"

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
key=$(sha256sum <"$requirements" | cut -c 1-16)
environment=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/fixpoint-interop/$key-$version
if [ ! -d "$environment" ]; then
  echo "making $environment" >&2
  # Made aside and renamed, so that what was interrupted is not found the next time. pip runs
  # outside: Debian's venv has none.
  aside=$environment.$$
  trap 'rm -rf "$aside"' EXIT
  trap 'exit 130' INT TERM
  mkdir -p "$(dirname "$environment")" && "$python" -m venv --without-pip "$aside" ||
    skip "no virtual environment could be made"
  log=$aside/pip.log
  "$python" -m pip --python "$aside/bin/python" install --quiet --no-deps --require-hashes \
    --only-binary :all: --no-warn-script-location --disable-pip-version-check \
    -r "$requirements" >"$log" 2>&1 || skip "$(tail -n 3 "$log")"
  "$aside/bin/python" -c 'import paddle' >"$log" 2>&1 || skip "$(tail -n 3 "$log")"
  mv -T "$aside" "$environment" 2>/dev/null || [ -d "$environment" ] || skip "cannot write $environment"
fi

# One thread and no oneDNN: the same numbers in every run.
export FLAGS_use_mkldnn=0 FLAGS_new_executor_serial_run=1 CPU_NUM=1 OMP_NUM_THREADS=1
export OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 GLOG_minloglevel=2
export PYTHONDONTWRITEBYTECODE=1 PYTHONNOUSERSITE=1
exec "$environment/bin/python" "$here/suite.py" "$@"
