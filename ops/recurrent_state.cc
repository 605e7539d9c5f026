#include "ops/recurrent_state.h"

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "ops/sums_of_codes.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

bool IsWithinOne(absl::string_view function) { return function == "sigmoid" || function == "tanh"; }

std::string Said(const OpAttributes& attributes, absl::string_view name) {
  return absl::StrCat(name, " is ", attributes.String(name));
}

}  // namespace

absl::Status CheckStateBits(int64_t bits) {
  if (bits >= kFewestStateBits && bits <= kMostStateBits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("codes of a state have ", bits, " bits; want ",
                                                 kFewestStateBits, " to ", kMostStateBits));
}

absl::StatusOr<int> StateBitsOf(const OpAttributes& attributes) {
  const int64_t bits = attributes.Int(kStateBitsAttr);
  if (bits != 0) RETURN_IF_ERROR(CheckStateBits(bits));
  return static_cast<int>(bits);
}

bool HasStateBits(const Op& op) {
  const OpSchema* const schema = FindOpSchema(op.type());
  return schema != nullptr && schema->gradient_of().empty() &&
         schema->FindAttr(kStateBitsAttr, Era::kPaddle2) != nullptr;
}

std::optional<std::string> WhyStateLeavesRange(const OpAttributes& attributes) {
  const std::string& type = attributes.op().type();
  if (type == "rnn") {
    if (attributes.String("mode") != "RNN_RELU") return std::nullopt;
    return Said(attributes, "mode");
  }
  // The state of a GRU is a mean of the one before and a candidate, weighted by a gate.
  const bool is_gru = type == "gru";
  if (is_gru && attributes.String("gate_activation") != "sigmoid") {
    return Said(attributes, "gate_activation");
  }
  for (const char* name : {"gate_activation", is_gru ? "activation" : "cell_activation"}) {
    if (!IsWithinOne(attributes.String(name))) return Said(attributes, name);
  }
  return std::nullopt;
}

bool StateSumsFit(int state_bits, int64_t products) {
  constexpr int kBitsOfByte = 8;
  if (state_bits > kBitsOfByte) return products <= kMostWideProducts;
  SumOfProducts sum;
  sum.products = products;
  return SumsFit(sum);
}

}  // namespace fixpoint
