#include "runtime/executor/ops/stored_results.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/bias_codes.h"
#include "ops/code_dtype.h"
#include "ops/epilogue_attributes.h"
#include "ops/requantization.h"
#include "proto/base/status_macros.h"

namespace fixpoint::executor {
namespace {

// Codes of a bias, as the numbers of a stage.
absl::StatusOr<Buffer> ReadBiasCodes(OpPlanner& op, absl::string_view slot, int index) {
  ASSIGN_OR_RETURN(const Buffer integers, op.Read(slot, VarType::INT32, Layout::kRowMajor, index));
  const Buffer numbers = op.Scratch("operand", VarType::FP32, integers.size);
  op.AddStep({{integers},
              {numbers},
              [=](const StepContext& run) {
                const absl::Span<int32_t> codes = run.Of<int32_t>(integers);
                for (const int32_t code : codes) RETURN_IF_ERROR(CheckBiasCode(code, "a bias is"));
                std::copy(codes.begin(), codes.end(), run.Floats(numbers).begin());
                return absl::OkStatus();
              },
              "",
              0,
              "codes of a bias"});
  return numbers;
}

// The factors of a stage, once they have been checked.
absl::StatusOr<Buffer> ReadFactors(OpPlanner& op, absl::string_view slot, int index) {
  ASSIGN_OR_RETURN(const Buffer given, op.ReadFloats(slot, Layout::kRowMajor, index));
  const Buffer factors = op.Scratch("factors", VarType::FP32, given.size);
  op.AddStep({{given},
              {factors},
              [=](const StepContext& run) {
                const absl::Span<float> all = run.Floats(given);
                for (const float factor : all) RETURN_IF_ERROR(CheckRequantizationFactor(factor));
                std::copy(all.begin(), all.end(), run.Floats(factors).begin());
                return absl::OkStatus();
              },
              "",
              0,
              "factors"});
  return factors;
}

// The numbers of a stage, in the layout of its results or, of channels, in their order.
absl::StatusOr<Buffer> ReadNumbers(OpPlanner& op, const EpilogueStage& stage,
                                   const StoredOutput& stored, int index) {
  const absl::string_view slot = stored.operands;
  const VarType::Type dtype = op.InputType(slot, index).dtype;
  RETURN_IF_ERROR(CheckNumbersType(stage, dtype));
  if (dtype == VarType::INT32) return ReadBiasCodes(op, slot, index);
  if (stage.kind == EpilogueStage::Kind::kRequantize) return ReadFactors(op, slot, index);
  return op.ReadFloats(slot, stage.is_of_channels() ? Layout::kRowMajor : stored.layout, index);
}

absl::StatusOr<StageOperands> ReadOperands(OpPlanner& op, const StoredOutput& stored) {
  StageOperands operands;
  int index = 0;
  for (const EpilogueStage& stage : stored.epilogue) {
    operands.numbers.push_back(std::nullopt);
    if (!stage.has_operand()) continue;
    const Dims& dims = op.InputDims(stored.operands, index);
    const bool fits = stage.is_of_channels()
                          ? op.InputType(stored.operands, index).size() == stored.channels
                          : dims == stored.type.dims;
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat(stored.operands, "[", index, "] of ", std::string(StageName(stage.kind)),
                       " is ", DimsText(dims), "; want ",
                       stage.is_of_channels() ? absl::StrCat(stored.channels, " channels")
                                              : DimsText(stored.type.dims)));
    }
    if (stage.is_of_codes()) {
      if (operands.codes) return absl::UnimplementedError("codes are added twice; want once");
      ASSIGN_OR_RETURN(
          operands.codes,
          op.Read(stored.operands, CodeDtype(stage.is_of_unsigned_codes()), stored.layout, index));
    } else {
      ASSIGN_OR_RETURN(operands.numbers.back(), ReadNumbers(op, stage, stored, index));
    }
    ++index;
  }
  return operands;
}

}  // namespace

std::vector<Buffer> StageOperands::WithOperands(std::vector<Buffer> reads) const {
  for (const std::optional<Buffer>& operand : numbers) {
    if (operand) reads.push_back(*operand);
  }
  if (codes) reads.push_back(*codes);
  return reads;
}

SplitEpilogue StoredOutput::split() const {
  const auto added = std::find_if(epilogue.begin(), epilogue.end(),
                                  [](const EpilogueStage& stage) { return stage.is_of_codes(); });
  const bool stores_codes = output_type() != kernels::OutputType::kFloat;
  if (stores_codes || added == epilogue.end()) return {epilogue, {}, {}};
  return {{epilogue.begin(), added}, *added, {added + 1, epilogue.end()}};
}

std::string StoredOutput::NameOf(const OpPlanner& op) const {
  return absl::StrJoin(epilogue, "", [&](std::string* name, const EpilogueStage& stage) {
    absl::StrAppend(name, name->empty() ? op.type() : "", " + ", StageName(stage.kind));
  });
}

absl::StatusOr<StoredOutput> StoredOutputOf(OpPlanner& op, absl::string_view slot, Layout layout,
                                            int64_t channels) {
  StoredOutput stored = {slot, {}, layout, channels, {}};
  ASSIGN_OR_RETURN(stored.type, op.OutputType(slot));
  ASSIGN_OR_RETURN(stored.epilogue, EpilogueOf(op.attributes().op()));
  return stored;
}

absl::StatusOr<StoredResults> PlanStore(OpPlanner& op, const StoredOutput& stored,
                                        absl::Span<const Buffer> inputs) {
  StoredResults results{stored.split(), {}, stored.output_type(), {}};
  ASSIGN_OR_RETURN(results.operands, ReadOperands(op, stored));
  const bool takes_place =
      results.starts_with_codes() &&
      std::find(inputs.begin(), inputs.end(), *results.operands.codes) == inputs.end();
  results.output =
      takes_place ? op.WriteOver(stored.slot, stored.type, stored.layout, *results.operands.codes)
                  : op.WriteAs(stored.slot, stored.type, stored.layout);
  return results;
}

}  // namespace fixpoint::executor
