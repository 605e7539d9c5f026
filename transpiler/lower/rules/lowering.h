// What the rules of a lowering share: what is known of a program that is on its way from the
// portable form to integers, and the edits that they have in common.

#ifndef FIXPOINT_TRANSPILER_LOWER_RULES_LOWERING_H_
#define FIXPOINT_TRANSPILER_LOWER_RULES_LOWERING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/code_dtype.h"
#include "ops/code_ops.h"
#include "ops/codes/coded_product.h"
#include "ops/codes/folded_ops.h"
#include "ops/dims.h"
#include "ops/epilogue.h"
#include "ops/epilogue_attributes.h"
#include "ops/era.h"
#include "ops/op_form.h"
#include "ops/quant_math.h"
#include "proto/program/op_builder.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"
#include "proto/wire/program.pb.h"
#include "transpiler/lower/code_type.h"
#include "transpiler/pipeline/parameter_writer.h"

namespace fixpoint {

enum class IntegerReason;  // ops/codes/integer_reasons.h

class LowerContext;

// Error (kInvalidArgument): a range that the Scale of `op` holds is NaN, infinite or negative.
absl::Status CheckRanges(const Op& op, absl::Span<const float> ranges);

// Makes the attributes of an op that writes codes say it.
void SetCodeType(const CodeType& type, OpDesc* op);

// How floats become codes: times the multiplier, rounded, plus the zero point, between the smallest
// and the largest code.
struct Quantization {
  float multiplier;
  int32_t smallest_code;
  CodeType type;
};

// Codes of an activation, as integers in a variable of their own.
struct ActivationCodes {
  const Argument* codes = nullptr;
  float range = 0;
  int32_t largest_code = 0;
  std::optional<int32_t> zero_point;  // of affine codes
  bool is_unsigned = false;
  bool is_wide = false;

  // REQUIRES: !is_wide.
  CodeType type() const {
    return {CodeDtype(is_unsigned), range, largest_code, zero_point.value_or(0)};
  }
  float step() const { return StepOf(range, largest_code); }
  OperandCodes form() const {
    OperandCodes form;
    form.is_unsigned = is_unsigned;
    form.has_zero_point = zero_point.has_value();
    form.is_wide = is_wide;
    return form;
  }
  // Says it to an op that adds these codes up.
  void AddZeroPoint(OpBuilder& product) const {
    if (zero_point) product.IntAttr("input_zero_point", *zero_point);
  }
};

// Codes of a parameter, INT8 or INT16.
struct ParameterCodes {
  const Argument* codes = nullptr;
  const Tensor* tensor = nullptr;
  const Argument* scale = nullptr;
  std::vector<float> ranges;  // one, or one for each channel
  int channel_axis = -1;      // of the codes; -1: one range
  int32_t largest_code = 0;
  bool is_wide = false;

  float step(int64_t channel) const {
    return StepOf(ranges[ranges.size() == 1 ? 0 : channel], largest_code);
  }
};

class Lowering {
 public:
  // REQUIRES: all outlive the object.
  Lowering(Program* program, LowerContext* context, absl::string_view pass);

  Era era() const { return EraOf(program_); }
  // Whether the slots and attributes of an op are as its schema says (CheckForm), so that it can be
  // read. Every op that a rule is given is.
  bool IsInForm(const Op& op) const;
  // The attributes of an op, with the defaults of its type in this era. REQUIRES: IsInForm(op).
  OpAttributes AttributesOf(const Op& op) const;

  // Whether no element of what an argument of the portable program reads or writes is below 0.
  bool IsNeverNegative(const Argument& argument) const {
    return never_negative_.contains(&argument);
  }
  Rewriter& rewriter() { return rewriter_; }
  // Says that an op that was left as it is moves codes since.
  void NoteMovesCodes(const Op& op) { moving_codes_.push_back(&op); }
  const std::vector<const Op*>& moving_codes() const { return moving_codes_; }

  // Counts a quantizer that rounds ties away from zero, where integers round them to even.
  void CountRoundingAwayFromZero() { ++rounding_away_from_zero_; }
  int rounding_away_from_zero() const { return rounding_away_from_zero_; }

  // How an op converts between floats and codes (code_ops.h); nothing for any other op, and for one
  // that only observes.
  std::optional<CodeOp> CodeOpOf(const Op& op) const;
  // Whether an op dequantizes all codes of a tensor with one range, or one step and zero point, as
  // integer_dequantize does.
  bool DequantizesTensor(const Op& op) const;
  // The codes of 8 bits that an input's floats stand for; nothing where they stand for none.
  std::optional<ActivationCodes> FindCodes(const Argument& input) const;
  // The same for an operand of a product, whose codes may be wide.
  std::optional<ActivationCodes> FindOperandCodes(const Argument& input) const;
  // The same for a parameter. `reason` says why there are none. Errors: the range is not in the
  // parameters; those of CheckRanges; codes of another type than the program declares, or ranges
  // that are not one for each channel.
  absl::StatusOr<std::optional<ParameterCodes>> FindParameterCodes(const Argument& input,
                                                                   IntegerReason* reason);
  // What a parameter holds that nothing writes, unless the op that reads it hands it on (statistics
  // in test mode); null where the input is none. Error (kNotFound): it is in no scope.
  absl::StatusOr<const Tensor*> FindParameter(const Argument& input);
  // The numbers of such a parameter, FP32; none where the input is null or another.
  absl::StatusOr<absl::Span<const float>> FindNumbers(const Argument* input);

  // Puts an op before `op`, with its role; or in its place.
  const Op& InsertBefore(const Op& op, OpDesc inserted);
  const Op& Replace(const Op& op, OpDesc replacement);
  // Puts a product on integers in the place of the op that it was decided for.
  void ReplaceProduct(const Op& op, const CodedProduct& decided, OpDesc replacement);
  // What was decided for a product that this lowering wrote, and that gives its sums; null for any
  // other op.
  const CodedProduct* FindProduct(const Op& product) const;

  // Declares a tensor anew, with elements of another type. REQUIRES: it is declared.
  void SetElementType(const Variable& variable, VarType::Type dtype);

  // Declares a new parameter; floats are FP32 of one dimension.
  absl::StatusOr<std::string> AddParameter(absl::string_view base, Tensor tensor);
  absl::StatusOr<std::string> AddParameter(absl::string_view base, std::vector<float> values);

  // The product of codes whose epilogue may take up `reader`, because `reader` alone reads its
  // result, as floats, and the product may be computed where `reader` stands.
  const Op* FindOpenProduct(const Argument& reader) const;
  // The table of floats (table.h) that may hold codes instead, likewise.
  const Op* FindOpenTable(const Argument& reader) const;
  // Takes up an op that is folded into a product: that goes to its place, with more stages.
  // `operands` are the variables of those that have one.
  void TakeUp(const Op& product, const FoldedOp& fold,
              const std::vector<std::string>& operands = {});
  // The same for the sum with a bias, whose codes the product adds to its sums.
  void TakeUpBias(const Op& product, const FoldedOp& fold, const Argument& codes);
  // Makes the product store codes in a variable, with more stages.
  void StoreCodes(const Op& product, absl::string_view codes, const Epilogue& stages,
                  const CodeType& type);
  // The same for one whose sums are requantized by factors of the channels: its scales are 1.
  absl::Status StoreRequantized(const Op& product, absl::string_view codes,
                                std::vector<float> factors, const Epilogue& stages,
                                const CodeType& type);

 private:
  const Op* FindOpen(const Argument& reader) const;
  // Whether nothing in the portable program writes it.
  bool IsUnwritten(const Variable& variable);
  // Puts an op in the place of the one that is folded into the product, and removes both.
  void ReplaceBoth(const Op& product, const Op& folded, OpDesc replacement);
  OpDesc Extended(const Op& product, absl::string_view output, const Epilogue& stages,
                  const std::vector<std::string>& operands) const;

  LowerContext& context_;
  Program& program_;
  const absl::string_view pass_;
  Rewriter rewriter_;
  ParameterWriter parameters_;
  absl::flat_hash_set<const Argument*> never_negative_;
  // What IsUnwritten said: the edits of a lowering write no parameter.
  absl::flat_hash_map<const Variable*, bool> unwritten_;
  std::vector<const Op*> moving_codes_;
  absl::flat_hash_map<const Op*, CodedProduct> products_;
  int rounding_away_from_zero_ = 0;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_LOWER_RULES_LOWERING_H_
