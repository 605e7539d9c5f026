#include "transpiler/composites/recurrent_states.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

namespace fixpoint {

std::string LstmStateText(absl::string_view step, absl::string_view cell_before,
                          absl::string_view cell, absl::string_view hidden) {
  return absl::Substitute(
      "  sigmoid(X=i$0) -> (Out=input_gate$0)\n"
      "  sigmoid(X=f$0) -> (Out=forget_gate$0)\n"
      "  tanh(X=g$0) -> (Out=candidate$0)\n"
      "  sigmoid(X=o$0) -> (Out=output_gate$0)\n"
      "  elementwise_mul(X=forget_gate$0, Y=$1) -> (Out=kept$0) {axis=-1}\n"
      "  elementwise_mul(X=input_gate$0, Y=candidate$0) -> (Out=added$0) {axis=-1}\n"
      "  elementwise_add(X=kept$0, Y=added$0) -> (Out=$2) {axis=-1}\n"
      "  tanh(X=$2) -> (Out=cell_tanh$0)\n"
      "  elementwise_mul(X=output_gate$0, Y=cell_tanh$0) -> (Out=$3) {axis=-1}\n",
      step, cell_before, cell, hidden);
}

std::string GruStateText(absl::string_view step, absl::string_view hidden_before,
                         absl::string_view hidden, GruUpdate update) {
  const std::string candidate = absl::StrCat("candidate", step);
  const bool keeps = update == GruUpdate::kKeeps;
  const absl::string_view toward = keeps ? hidden_before : candidate;
  const absl::string_view from = keeps ? candidate : hidden_before;
  return absl::Substitute(
      "  elementwise_sub(X=$1, Y=$2) -> (Out=difference$0) {axis=-1}\n"
      "  elementwise_mul(X=update_gate$0, Y=difference$0) -> (Out=$3$0) {axis=-1}\n"
      "  elementwise_add(X=$3$0, Y=$2) -> (Out=$4) {axis=-1}\n",
      step, toward, from, keeps ? "kept" : "added", hidden);
}

}  // namespace fixpoint
