// The ops of a quantizer's text (ops/quantizers/quantizer_text.h), filled in for one use: numbers
// of the spec, axes, and constants that are read by name.

#ifndef FIXPOINT_OPS_QUANTIZERS_FORMULA_OPS_H_
#define FIXPOINT_OPS_QUANTIZERS_FORMULA_OPS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer.h"
#include "ops/quantizers/formula_groups.h"
#include "ops/quantizers/quantizer_text.h"

namespace fixpoint {

// The ops of a section, ready for a program but for the names:
//   * attributes with "$name", or "$name+1", have the number of that name, a setting's or one of
//     the spec;
//   * reductions that name no `dim` reduce what shares a range;
//   * elementwise ops of a value and a number for each range broadcast along the channel axis;
//   * split_groups and join_groups (formula_groups.h) are reshapes;
//   * numbers that they read by name are written first, by ops that are added.
// Errors (kInvalidArgument), with file and line: a name that nothing gives, or that stands for
// something else; an attribute that names no number; groups of what has none.
class FormulaOps {
 public:
  // REQUIRES: both outlive this object.
  FormulaOps(const QuantizerText& text, const QuantizerUse& use);

  // REQUIRES: the ops are those that ReadFormulaOp (formula_words.h) gives; sections whose names
  // the section reads are filled before.
  absl::StatusOr<std::vector<OpDesc>> Fill(const QuantizerText::Section& section);

  // Whether the quantize op's range is a number for each range. REQUIRES: the forward section is
  // filled.
  bool HasRangesPerChannel() const;

 private:
  // How many numbers a name stands for.
  enum class Extent { kOne, kRanges, kGroups, kGroupedValue, kValue };
  static Extent ExtentOf(const QuantizerText::State& state);

  absl::Status FillOne(OpDesc* op, int line);
  void SetCodeAttrs(OpDesc* op) const;
  absl::Status FillAttribute(const OpDesc& op, OpDesc::Attr* attr, int line) const;
  // Says of "range@GRAD" where the state is not trained: it has no gradient.
  absl::Status CheckIsTrained(absl::string_view gradient, absl::string_view use, int line) const;
  // An output is a new name, or one that `section` is there to write.
  absl::Status CheckOutputs(const OpDesc& op, const QuantizerText::Section& section,
                            int line) const;
  absl::Status TakeExtents(OpDesc* op, int line);
  // What a reduction that names no `dim` leaves of `extent`.
  Extent ReduceWhatSharesARange(Extent extent, OpDesc* op) const;
  void BroadcastRanges(OpDesc* op) const;
  absl::Status Reshape(OpDesc* op, int line);
  std::vector<OpDesc> WriteNumber(const std::string& name) const;
  std::vector<OpDesc> WriteCount() const;
  double NumberOf(absl::string_view name) const;
  bool IsSetting(absl::string_view name) const;
  bool per_channel() const { return use_.spec.granularity() == QuantSpec::PER_CHANNEL; }

  const QuantizerText& text_;
  const QuantizerUse& use_;
  absl::flat_hash_map<std::string, Extent> extents_;
  absl::flat_hash_set<std::string> written_numbers_;
  std::optional<GroupedWeight> grouped_;  // once it is split, if the weight's dims are known
};

// The ops by which the names in `wanted` are computed, in order; the others are left out.
std::vector<OpDesc> OpsThatWrite(const std::vector<OpDesc>& ops,
                                 absl::flat_hash_set<std::string> wanted);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_FORMULA_OPS_H_
