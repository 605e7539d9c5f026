// What is done with each element of a product or a convolution before it is stored: the bias, the
// batch normalization, the sum with a residual, the activation, the step to codes. One vocabulary,
// for kernels, for simulated inference, and for the ops of lowered programs, which say it in their
// attributes.

#ifndef FIXPOINT_OPS_EPILOGUE_H_
#define FIXPOINT_OPS_EPILOGUE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program.pb.h"

namespace fixpoint {

// One operation, rounded to FP32: what an op of its own would compute of what is stored.
struct EpilogueStage {
  enum class Kind {
    kAddChannel,       // x + operand[channel]
    kMultiplyChannel,  // x * operand[channel]
    kAddElement,       // x + operand[element]
    kAddInt8,          // fma(operand[element] - b, a, x), of codes whose step is a, zero point b
    kAddUint8,         // the same of unsigned codes
    kMultiply,         // x * a
    kAdd,              // x + a
    kRound,            // the integer nearest to x, the even one of two
    kRelu,             // x where x > 0, else 0, a NaN too
    kLeakyRelu,        // x where x > 0, else x * a
    kHardSwish,        // x * min(max(x * a + b, 0), 1)
    kClip,             // min(max(x, a), b), a of a NaN
  };
  Kind kind = Kind::kRelu;
  float a = 0;
  float b = 0;

  bool is_of_channels() const {
    return kind == Kind::kAddChannel || kind == Kind::kMultiplyChannel;
  }
  bool is_of_codes() const { return kind == Kind::kAddInt8 || kind == Kind::kAddUint8; }
  bool has_operand() const {
    return is_of_channels() || kind == Kind::kAddElement || is_of_codes();
  }

  friend bool operator==(const EpilogueStage& x, const EpilogueStage& y) {
    return x.kind == y.kind && x.a == y.a && x.b == y.b;
  }
};

// In order. Behind the last one, codes are rounded half to even.
using Epilogue = std::vector<EpilogueStage>;

// "add_channel" of kAddChannel.
absl::string_view StageName(EpilogueStage::Kind kind);
// Nothing for a name that is no stage's.
std::optional<EpilogueStage::Kind> FindStage(absl::string_view name);

// What an op says in its attributes: `epilogue` (STRINGS) names the stages, `epilogue_a` and
// `epilogue_b` (FLOATS) have the numbers of each; where they are absent there are no stages.
// Error (kInvalidArgument): a name is no stage's, there are not as many numbers, or a zero point is
// no code.
absl::StatusOr<Epilogue> EpilogueOf(const OpDesc& op);
// Makes the attributes say it.
void SetEpilogue(const Epilogue& epilogue, OpDesc* op);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_EPILOGUE_H_
