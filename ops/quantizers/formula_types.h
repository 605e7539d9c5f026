// Whether the ops of a quantizer's text agree with what they read and write.

#ifndef FIXPOINT_OPS_QUANTIZERS_FORMULA_TYPES_H_
#define FIXPOINT_OPS_QUANTIZERS_FORMULA_TYPES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "ops/quantizer.h"
#include "ops/quantizers/quantizer_text.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// The dimensions of the weight for which a text is checked: unlikely ones, the second of which has
// groups of usual sizes. Errors call them d0 and d1.
inline constexpr std::array<int64_t, 2> kStandInDims = {10007, 10240};

class FormulaTypes {
 public:
  // What the names of a text stand for in one use. REQUIRES: all outlive this object.
  FormulaTypes(const QuantizerText& text, const QuantizerRecipe& recipe, const QuantizerUse& use);

  // Ops that are filled in (formula_ops.h), and the section that they are from. Error
  // (kInvalidArgument), with file and line: an op contradicts what it reads, or writes the result,
  // a state or a gradient in other dimensions than those of what it stands for.
  absl::Status Take(const std::vector<OpDesc>& ops, const QuantizerText::Section& section);

 private:
  void Declare(const std::string& name, DimsView dims);
  absl::Status Error(const OpDesc& op, const QuantizerText::Section& section,
                     const std::string& message) const;
  int LineOf(const OpDesc& op, const QuantizerText::Section& section) const;

  const QuantizerText& text_;
  const Era era_;
  absl::flat_hash_map<std::string, VarDesc> types_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_FORMULA_TYPES_H_
