// What is done with each element of a product or a convolution before it is stored: the bias, the
// batch normalization, the sum with a residual, the activation, the step to codes. One vocabulary,
// for kernels, for simulated inference, and for the ops of lowered programs, which declare it in
// their attributes (epilogue_attributes.h).

#ifndef FIXPOINT_OPS_EPILOGUE_H_
#define FIXPOINT_OPS_EPILOGUE_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace fixpoint {

// One operation, rounded to FP32: what an op of its own would compute from what is stored.
struct EpilogueStage {
  enum class Kind {
    kAddChannel,       // x + operand[channel]
    kMultiplyChannel,  // x * operand[channel]
    kRequantize,       // x, a sum, by the factor operand[channel], in a roundings (fixed_point.h)
    kAddElement,       // x + operand[element]
    kAddInt8,          // fma(operand[element] - b, a, x), for codes with step a, zero point b
    kAddUint8,         // the same for unsigned codes
    kMultiply,         // x * a
    kAdd,              // x + a
    kRound,            // the integer nearest to x, the even one of two
    kRelu,             // x where x > 0, else 0, a NaN too
    kLeakyRelu,        // x where x > 0, else x * a
    kHardSwish,        // x * min(max(x * a + b, 0), 1)
    kClip,             // min(max(x, a), b), a for a NaN
  };
  Kind kind = Kind::kRelu;
  float a = 0;
  float b = 0;

  bool is_of_channels() const {
    return kind == Kind::kAddChannel || kind == Kind::kMultiplyChannel || kind == Kind::kRequantize;
  }
  bool is_of_codes() const { return kind == Kind::kAddInt8 || is_of_unsigned_codes(); }
  bool is_of_unsigned_codes() const { return kind == Kind::kAddUint8; }
  bool has_operand() const {
    return is_of_channels() || kind == Kind::kAddElement || is_of_codes();
  }

  // The stage that adds codes.
  static EpilogueStage AddCodes(bool is_unsigned, float step, float zero_point) {
    return {is_unsigned ? Kind::kAddUint8 : Kind::kAddInt8, step, zero_point};
  }

  friend bool operator==(const EpilogueStage& x, const EpilogueStage& y) {
    return x.kind == y.kind && x.a == y.a && x.b == y.b;
  }
};

// In order. After the last one, codes are rounded half to even.
using Epilogue = std::vector<EpilogueStage>;

// "add_channel" for kAddChannel.
absl::string_view StageName(EpilogueStage::Kind kind);
// Nothing if no stage has that name.
std::optional<EpilogueStage::Kind> FindStage(absl::string_view name);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_EPILOGUE_H_
