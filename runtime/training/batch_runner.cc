#include "runtime/training/batch_runner.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

std::string Described(const std::string& name, const Tensor& tensor) {
  return absl::StrCat("\"", name, "\" is ", VarType::Type_Name(tensor.dtype()), " ",
                      DimsText(tensor.dims()));
}

// The number that a tensor holds; `what` it is, for the error.
absl::StatusOr<double> NumberIn(absl::string_view what, const std::string& name,
                                const Tensor& tensor) {
  if (tensor.size() == 1 && tensor.dtype() == VarType::FP32) return tensor.data<float>()[0];
  if (tensor.size() == 1 && tensor.dtype() == VarType::FP64) return tensor.data<double>()[0];
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", Described(name, tensor), "; want one FP32 or FP64 number"));
}

// How many rows have their largest score at their label.
absl::StatusOr<int64_t> CountCorrect(const std::string& name, const Tensor& scores,
                                     absl::Span<const int64_t> labels) {
  const auto rows = static_cast<int64_t>(labels.size());
  if (scores.dtype() != VarType::FP32 || scores.dims().size() != 2 || scores.dims()[0] != rows ||
      scores.dims()[1] == 0) {
    return absl::InvalidArgumentError(absl::StrCat("the scores ", Described(name, scores),
                                                   "; want FP32 [", rows,
                                                   ", classes], a row for each label"));
  }
  const auto classes = static_cast<size_t>(scores.dims()[1]);
  int64_t correct = 0;
  for (size_t row = 0; row < labels.size(); ++row) {
    const auto of_row = scores.data<float>().subspan(row * classes, classes);
    correct += std::max_element(of_row.begin(), of_row.end()) - of_row.begin() == labels[row];
  }
  return correct;
}

}  // namespace

BatchRunner::BatchRunner(NetworkVariables variables, std::unique_ptr<Backend> backend,
                         FedBatches batches)
    : variables_(std::move(variables)),
      backend_(std::move(backend)),
      source_(std::make_unique<Source>(std::move(batches))) {}

absl::StatusOr<BatchRunner> BatchRunner::Create(const Program& program, Scope* scope,
                                                const SampleSet* set,
                                                const BatchRunOptions& options) {
  BatchOptions checked = options.batches;
  checked.check_finite |= options.backend_options.check_finite;
  ASSIGN_OR_RETURN(FedBatches batches,
                   FedBatches::Create(program, set, options.variables, checked));
  ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend,
                   MakeBackend(options.backend, program, scope, options.backend_options));
  return BatchRunner(options.variables, std::move(backend), std::move(batches));
}

absl::StatusOr<BatchResult> BatchRunner::Run(int64_t number, uint32_t step,
                                             absl::Span<const std::string> also_fetch) {
  ASSIGN_OR_RETURN(const Batch batch, source_->ahead.At(PositionOf(number)));

  const Tensor* const labels = source_->fed.LabelsOf(batch);
  const bool has_answers = labels != nullptr && !variables_.scores.empty();
  std::vector<std::string> fetches(also_fetch.begin(), also_fetch.end());
  fetches.insert(fetches.end(), variables_.metrics.begin(), variables_.metrics.end());
  if (has_answers) fetches.push_back(variables_.scores);
  if (!variables_.loss.empty()) fetches.push_back(variables_.loss);
  ASSIGN_OR_RETURN(std::vector<Tensor> fetched,
                   backend_->Run(source_->fed.FeedsOf(batch), fetches, step));

  BatchResult result;
  result.samples = static_cast<int64_t>(batch.samples.size());
  if (!variables_.loss.empty()) {
    ASSIGN_OR_RETURN(result.loss, NumberIn("the loss", variables_.loss, fetched.back()));
    fetched.pop_back();
  }
  if (has_answers) {
    result.answers = labels->size();
    ASSIGN_OR_RETURN(result.correct,
                     CountCorrect(variables_.scores, fetched.back(), labels->data<int64_t>()));
    fetched.pop_back();
  }
  for (size_t i = 0; i < variables_.metrics.size(); ++i) {
    ASSIGN_OR_RETURN(const double metric,
                     NumberIn("the metric", variables_.metrics[i], fetched[also_fetch.size() + i]));
    result.metrics.push_back(metric);
  }
  fetched.erase(fetched.begin() + static_cast<std::ptrdiff_t>(also_fetch.size()), fetched.end());
  result.fetched = std::move(fetched);
  return result;
}

}  // namespace fixpoint
