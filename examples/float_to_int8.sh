#!/bin/sh
# Trains a small network with quantizers, makes its int8 program, and prints the float program and
# the int8 program side by side. The last line compares what the int8 program computes with what
# training simulated, on test images that neither has seen. Run it from the root of the repository.
set -eu

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# Runs a tool quietly; what it wrote is shown if it fails.
run() {
  tool=$1
  shift
  ./bazelw run "//tools:$tool" -- "$@" >"$made/log" 2>&1 || { cat "$made/log" >&2; exit 1; }
}

# Prints the ops of a program up to the scores, what each writes below what it reads, and the stages
# of its epilogue; ... stands for the slots of scales and biases.
ops() {
  run inspect text "$1"
  sed -n 's/^  \([a-z0-9_]*(.*)\) -> \((.*)\) {\(.*\)}.*/\1\n  -> \2 \3/p' "$made/log" |
    sed -e 's/, Scales=[^)]*/, .../' -e 's/^\(  -> [^ ]*\) .*epilogue=\(\[[^]]*\]\).*/\1 \2/' \
      -e 's/^\(  -> [^ ]*\) .*=.*/\1/' -e '/^feed(/,+1d' | sed '/(Out=fc_1.tmp_1)/q'
}

data=$PWD/examples/data
run transpile --mode=test --output="$made/float.txt" "$data/mlp.train.txt"
run transpile --target=onednn_int8 --startup="$data/mlp.startup.txt" \
  --output="$made/train.txt" --startup_output="$made/startup.txt" "$data/mlp.train.txt"
run train "$made/train.txt" --startup="$made/startup.txt" --data=digits:500 --epochs=5 \
  --save="$made/params"
run transpile --mode=test --output="$made/simulated.txt" "$made/train.txt"
run transpile --mode=freeze --params="$made/params" --fetches=fc_1.tmp_1 \
  --output="$made/frozen.txt" --params_output="$made/frozen" "$made/train.txt"
run transpile --mode=lower --params="$made/frozen" --output="$made/int8.txt" \
  --params_output="$made/int8" "$made/frozen.txt"

{ echo "float program"; ops "$made/float.txt"; } >"$made/left"
{ echo "int8 program"; ops "$made/int8.txt"; } >"$made/right"
paste -d '|' "$made/left" "$made/right" |
  awk -F '|' '{ line = sprintf("%-44s%s", $1, $2); sub(/ +$/, "", line); print line }'
echo
run infer "$made/int8.txt" --params="$made/int8" --compare="$made/simulated.txt" \
  --compare_params="$made/params" --data=digits:500
tail -n 1 "$made/log"
