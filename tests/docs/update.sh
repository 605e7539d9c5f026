#!/bin/sh
# Writes the generated files, and then what commands print into the pages.
set -eu
tests/docs/write_generated
exec tests/docs/console.py --update
