#include "runtime/training/batch_norm_estimation.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/norm_factors.h"
#include "ops/op_form.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/kept_state.h"
#include "runtime/tensor.h"
#include "runtime/training/evaluator.h"

namespace fixpoint {
namespace {

// A batch norm, and the sums over batches so far.
struct Estimate {
  const Op* op;
  double epsilon;
  std::vector<double> means;
  std::vector<double> variances;

  std::string Named(const char* output) const { return std::string(op->Output(output)->name()); }
};

std::optional<Estimate> EstimateOf(const Op& op, Era era) {
  if (op.type() != "batch_norm" && op.type() != "folded_batch_norm") return std::nullopt;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era);
  if (!attributes || attributes->Bool(kIsTest)) return std::nullopt;
  if (op.type() == "batch_norm" && UsesGivenStatistics(*attributes, false)) return std::nullopt;
  for (const char* slot : {"MeanOut", "VarianceOut", "SavedMean", "SavedVariance"}) {
    if (op.Output(slot) == nullptr || op.Output(slot)->variable() == nullptr) return std::nullopt;
  }
  return Estimate{&op, attributes->Float("epsilon"), {}, {}};
}

std::vector<Estimate> EstimatesOf(const Program& program) {
  std::vector<Estimate> estimates;
  for (const Op& op : program.block(0).ops()) {
    std::optional<Estimate> estimate = EstimateOf(op, EraOf(program));
    if (estimate) estimates.push_back(*std::move(estimate));
  }
  return estimates;
}

absl::Status NotFloats(const Estimate& estimate) {
  return absl::FailedPreconditionError(
      absl::StrCat(DescribeInFile(*estimate.op), ": has statistics that are not FP32"));
}

// SavedVariance is 1 / sqrt(variance + epsilon).
absl::Status AddBatch(const Tensor& mean, const Tensor& saved, Estimate* estimate) {
  if (mean.dtype() != VarType::FP32 || saved.dtype() != VarType::FP32) return NotFloats(*estimate);
  estimate->means.resize(mean.size());
  estimate->variances.resize(saved.size());
  for (int64_t c = 0; c < mean.size(); ++c) estimate->means[c] += mean.data<float>()[c];
  for (int64_t c = 0; c < saved.size(); ++c) {
    const double inverse = saved.data<float>()[c];
    estimate->variances[c] += std::max(1 / (inverse * inverse) - estimate->epsilon, 0.0);
  }
  return absl::OkStatus();
}

// The elements of a running statistic; none if it is no FP32 tensor of that size.
absl::Span<float> Elements(const std::string& name, size_t size, Scope* scope) {
  Scope::Value* const value = scope->FindOrNull(name);
  auto* const tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
  if (tensor == nullptr || tensor->dtype() != VarType::FP32 ||
      tensor->size() != static_cast<int64_t>(size)) {
    return {};
  }
  return tensor->mutable_data<float>();
}

absl::Status CheckFinite(const Estimate& estimate) {
  for (const std::vector<double>* sums : {&estimate.means, &estimate.variances}) {
    for (const double sum : *sums) {
      if (std::isfinite(sum)) continue;
      return absl::FailedPreconditionError(
          absl::StrCat(DescribeInFile(*estimate.op), ": a statistic of a batch is not finite"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckHasBatchNorm(const Program& program) {
  if (!EstimatesOf(program).empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the program has no batch norm that goes by the statistics of its batch");
}

absl::StatusOr<int> EstimateBatchNorm(const Program& program, int64_t batches, const SampleSet* set,
                                      const BatchRunOptions& options, Scope* scope) {
  RETURN_IF_ERROR(CheckDoesNotTrain(program));
  RETURN_IF_ERROR(CheckHasBatchNorm(program));
  std::vector<Estimate> estimates = EstimatesOf(program);
  std::vector<std::string> fetches;
  for (const Estimate& estimate : estimates) {
    for (const char* slot : {"SavedMean", "SavedVariance"}) fetches.push_back(estimate.Named(slot));
  }
  ASSIGN_OR_RETURN(BatchRunner runner, BatchRunner::Create(program, scope, set, options));
  runner.EndAt(batches);
  ASSIGN_OR_RETURN(const KeptState state, KeptState::Of(program, *scope));
  const auto run_all = [&]() -> absl::Status {
    for (int64_t batch = 0; batch < batches; ++batch) {
      ASSIGN_OR_RETURN(const BatchResult result,
                       runner.Run(batch, static_cast<uint32_t>(batch), fetches));
      for (size_t i = 0; i < estimates.size(); ++i) {
        RETURN_IF_ERROR(AddBatch(result.fetched[2 * i], result.fetched[2 * i + 1], &estimates[i]));
      }
    }
    return absl::OkStatus();
  };
  const absl::Status run = run_all();
  RETURN_IF_ERROR(state.Restore(scope));
  RETURN_IF_ERROR(run);
  for (const Estimate& estimate : estimates) {
    RETURN_IF_ERROR(CheckFinite(estimate));
    if (Elements(estimate.Named("MeanOut"), estimate.means.size(), scope).empty() ||
        Elements(estimate.Named("VarianceOut"), estimate.variances.size(), scope).empty()) {
      return NotFloats(estimate);
    }
  }
  for (const Estimate& estimate : estimates) {
    const absl::Span<float> mean =
        Elements(estimate.Named("MeanOut"), estimate.means.size(), scope);
    const absl::Span<float> variance =
        Elements(estimate.Named("VarianceOut"), estimate.variances.size(), scope);
    for (size_t c = 0; c < mean.size(); ++c) {
      mean[c] = static_cast<float>(estimate.means[c] / static_cast<double>(batches));
      variance[c] = static_cast<float>(estimate.variances[c] / static_cast<double>(batches));
    }
  }
  return static_cast<int>(estimates.size());
}

}  // namespace fixpoint
