// The meaning of codes, according to the ops of a portable program: what its quantizers write, and
// which of that it reads as floats. A lowering is held to it (lowered_invariants.h).

#ifndef FIXPOINT_TRANSPILER_LOWER_PORTABLE_CODES_H_
#define FIXPOINT_TRANSPILER_LOWER_PORTABLE_CODES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "ops/quant_math.h"
#include "proto/program/program_fwd.h"
#include "runtime/tensor.h"
#include "transpiler/lower/code_type.h"
#include "transpiler/pipeline/edited_parameters.h"

namespace fixpoint {

// How floats are written as codes.
struct CodesWritten {
  CodeType type;
  std::optional<float> multiplier;  // of the floats; unknown for a table
};

// How codes are read as floats.
struct CodesRead {
  float range = 0;  // the float that `largest_code` codes above the zero point stand for
  int32_t largest_code = 0;
  int32_t zero_point = 0;

  float step() const { return StepOf(range, largest_code); }

  friend bool operator==(const CodesRead& a, const CodesRead& b) {
    return a.range == b.range && a.largest_code == b.largest_code && a.zero_point == b.zero_point;
  }
};

// A parameter of FP32 that a pass declared or that was trained; null if there is none.
const Tensor* FindNumbers(const EditedParameters& parameters, absl::string_view name);

// Whether an op is the cast that freezing writes between wide codes (ops/code_dtype.h) and the op
// that dequantizes them.
bool IsCastOfCodes(const Op& op);
// What holds the codes that an op reads as X: X itself, or what such a cast reads.
const Argument& HolderOfCodes(const Argument& x);

// Whether an op of a portable program is a step from codes to floats.
bool ReadsCodes(const Op& op);

class PortableCodes {
 public:
  // REQUIRES: both outlive the object, and are not edited.
  PortableCodes(const Program& portable, const EditedParameters& parameters);

  // How the portable program reads codes that an argument of the lowered program names too. Nothing
  // if it does not read them, reads them in several ways, or not by parameters of one element.
  std::optional<CodesRead> FindRead(const Argument& codes) const;
  // The step between two codes of a parameter in a channel, likewise; ranges repeat.
  std::optional<float> FindStep(const Argument& codes, size_t channel) const;
  // The step of a code of a bias in a channel, likewise.
  std::optional<float> FindBiasStep(const Argument& codes, size_t channel) const;
  // The parameter of the zero points that the channels of a parameter have, likewise; "" if they
  // have none.
  std::optional<std::string> FindZeroPoints(const Argument& codes) const;
  // What an op of the portable program writes, which the lowered one stores as `stored`; nothing if
  // that is not codes, or its range is not a parameter. REQUIRES: integers of 16 bits hold codes of
  // the op's bit_length.
  std::optional<CodesWritten> FindWritten(const Op& op, VarType::Type stored) const;

 private:
  using Key = std::pair<int, std::string>;  // the block and the name of a variable
  static Key KeyOf(const Argument& argument);

  void NoteRead(const Op& op);
  const Op* FindReader(const Argument& codes) const;
  // Nothing if an input is not a parameter of one element.
  std::optional<float> FindNumber(const Argument* input) const;

  const EditedParameters& parameters_;
  const Era era_;
  absl::flat_hash_map<Key, const Op*> readers_;  // null: several, which read differently
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_PORTABLE_CODES_H_
