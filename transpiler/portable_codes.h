// What codes are, by the ops of a portable program: what its quantizers write, and what it reads of
// that as numbers. A lowering is held to it (lowered_invariants.h).

#ifndef FIXPOINT_TRANSPILER_PORTABLE_CODES_H_
#define FIXPOINT_TRANSPILER_PORTABLE_CODES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "ops/quant_math.h"
#include "proto/program.h"
#include "runtime/tensor.h"
#include "transpiler/code_type.h"
#include "transpiler/pass.h"

namespace fixpoint {

// How numbers are written as codes.
struct CodesWritten {
  CodeType type;
  std::optional<float> multiplier;  // of the numbers; unknown of a table
};

// How codes are read as numbers.
struct CodesRead {
  float range = 0;  // of so many codes above the zero point:
  int32_t largest_code = 0;
  int32_t zero_point = 0;

  float step() const { return StepOf(range, largest_code); }

  friend bool operator==(const CodesRead& a, const CodesRead& b) {
    return a.range == b.range && a.largest_code == b.largest_code && a.zero_point == b.zero_point;
  }
};

// A parameter of FP32 that a pass declared or that was trained; null where there is none.
const Tensor* FindNumbers(const FreezeContext& context, absl::string_view parameter);

// Whether an op of a portable program is the step from codes to numbers.
bool ReadsCodes(const Op& op);

class PortableCodes {
 public:
  // REQUIRES: both outlive the object, and are not edited.
  PortableCodes(const Program& portable, const FreezeContext& context);

  // How the portable program reads codes that an argument of the lowered program names too. Nothing
  // where it does not read them, reads them in several ways, or not by parameters of one number.
  std::optional<CodesRead> FindRead(const Argument& codes) const;
  // The step between two codes of a parameter in a channel, likewise; ranges repeat.
  std::optional<float> FindStep(const Argument& codes, size_t channel) const;
  // The step of a code of a bias in a channel, likewise.
  std::optional<float> FindBiasStep(const Argument& codes, size_t channel) const;
  // The parameter of the zero points that the channels of a parameter have, likewise; "" where they
  // have none.
  std::optional<std::string> FindZeroPoints(const Argument& codes) const;
  // What an op of the portable program writes; nothing where that is no codes, or its range no
  // parameter. REQUIRES: the op's bit_length is one that integers of 8 bits hold.
  std::optional<CodesWritten> FindWritten(const Op& op) const;

 private:
  using Key = std::pair<int, std::string>;  // the block and the name of a variable
  static Key KeyOf(const Argument& argument);

  void NoteRead(const Op& op);
  const Op* FindReader(const Argument& codes) const;
  // Nothing where an input is no parameter of one number.
  std::optional<float> FindNumber(const Argument* input) const;

  const FreezeContext& context_;
  const Era era_;
  absl::flat_hash_map<Key, const Op*> readers_;  // null: several, which read otherwise
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PORTABLE_CODES_H_
