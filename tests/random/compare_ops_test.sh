#!/bin/sh
# 100 cases of each op, on each instruction set that the machine has.
set -eu
touch "${TEST_SHARD_STATUS_FILE:-/dev/null}"
exec "$1" --cases=100 --part="${TEST_SHARD_INDEX:-0}" --parts="${TEST_TOTAL_SHARDS:-1}"
