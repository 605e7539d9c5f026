#include "transpiler/quantize/output_noise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {

absl::StatusOr<OutputNoise> OutputNoise::Create(const Program& program, Scope* scope,
                                                const SampleSet* set,
                                                std::vector<std::string> outputs, int64_t samples,
                                                const BatchRunOptions& options) {
  const int64_t batch = options.batches.batch_size;
  const int64_t wanted = std::max<int64_t>(1, std::min(samples, set->size()) / batch);
  BatchRunOptions quiet = options;
  quiet.variables.loss.clear();
  quiet.variables.scores.clear();
  OutputNoise noise(set, std::move(outputs), wanted, quiet);
  ASSIGN_OR_RETURN(noise.floats_, noise.Run(program, scope));
  return noise;
}

absl::StatusOr<std::vector<std::vector<Tensor>>> OutputNoise::Run(const Program& program,
                                                                  Scope* scope) const {
  ASSIGN_OR_RETURN(BatchRunner runner, BatchRunner::Create(program, scope, set_, options_));
  runner.EndAt(batches_);
  std::vector<std::vector<Tensor>> outputs;
  for (int64_t batch = 0; batch < batches_; ++batch) {
    ASSIGN_OR_RETURN(BatchResult result, runner.Run(batch, /*step=*/0, outputs_));
    outputs.push_back(std::move(result.fetched));
  }
  return outputs;
}

absl::StatusOr<double> OutputNoise::Of(const Program& program, Scope* scope) const {
  ASSIGN_OR_RETURN(const std::vector<std::vector<Tensor>> outputs, Run(program, scope));
  double sum = 0;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    double signal = 0;
    double noise = 0;
    for (size_t batch = 0; batch < outputs.size(); ++batch) {
      const Tensor& floats = floats_[batch][i];
      const Tensor& tensor = outputs[batch][i];
      if (floats.dtype() != VarType::FP32 || tensor.dtype() != VarType::FP32) continue;
      if (floats.dims() != tensor.dims()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the output \"", outputs_[i],
                         "\" has other extents than in float, so that the two cannot be compared"));
      }
      const auto values = tensor.data<float>();
      for (size_t e = 0; e < values.size(); ++e) {
        const double expected = floats.data<float>()[e];
        const double difference = values[e] - expected;
        signal += expected * expected;
        noise += difference * difference;
      }
    }
    if (noise > 0) sum += signal > 0 ? noise / signal : std::numeric_limits<double>::infinity();
  }
  return std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum;
}

}  // namespace fixpoint
