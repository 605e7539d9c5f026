#!/bin/sh
# own_op_test.sh TRANSPILE TRAIN INFER PLUGIN NETWORK: a perceptron with an op of the plugin in the place
# of relu is trained on codes, frozen and lowered, where the op is part of a product on integers.
set -eu
transpile=$1 train=$2 infer=$3 plugin=$4 data=$(dirname "$5")
cd "$TEST_TMPDIR"
root=$TEST_SRCDIR/$TEST_WORKSPACE
tool() {
  command=$1
  shift
  "$root/$command" --plugin="$root/$plugin" "$@"
}
sed -e 's/^  relu(\(.*\)) -> \(.*\) {.*/  quarter_relu(\1) -> \2 {op_role=0}/' \
  -e 's/^  relu_grad(Out=[^,]*, \(.*\)) -> \(.*\) {.*/  quarter_relu_grad(X=fc_0.tmp_1, \1) -> \2 {op_role=1}/' \
  "$root/$data/mlp.train.txt" >net.txt
test "$(grep -c quarter_relu net.txt)" = 2

tool "$transpile" --target=onednn_int8 --startup="$root/$data/mlp.startup.txt" \
  --startup_output=startup.txt --output=quantized.txt net.txt
tool "$train" quantized.txt --startup=startup.txt --data=digits:500 --epochs=10 --save=params
tool "$transpile" --mode=test --output=test.txt quantized.txt
tool "$transpile" --mode=freeze --params=params --fetches=fc_1.tmp_1 --output=frozen.txt \
  --params_output=frozen quantized.txt
tool "$transpile" --mode=lower --params=frozen --output=lowered.txt --params_output=lowered frozen.txt
grep 'epilogue=\["add_channel", "leaky_relu"' lowered.txt
if grep quarter_relu lowered.txt; then exit 1; fi
tool "$infer" lowered.txt --params=lowered --compare=test.txt --compare_params=params \
  --data=digits:500 | tee compared.txt
grep '^0 elements differ' compared.txt

# Without the plugin the op is named.
if "$root/$train" net.txt --startup=startup.txt --data=digits:500 2>error.txt; then exit 1; fi
grep quarter_relu error.txt
