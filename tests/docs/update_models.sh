#!/bin/sh
# Writes docs/models.md.
set -eu
exec tests/docs/write_generated --models
