#include "examples/ocr/recorded_inputs.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "proto/base/status_macros.h"
#include "runtime/npz.h"
#include "runtime/scope.h"

namespace fixpoint {
namespace ocr {

void RecordedInputs::Add(Stage stage, const std::string& variable, const Tensor& input) {
  Inputs& inputs = stages_[stage];
  inputs.variable = variable;
  const absl::Span<const float> values = input.data<float>();
  inputs.batches.push_back({input.dims(), {values.begin(), values.end()}});
}

absl::Status RecordedInputs::Write(const std::string& folder) const {
  for (const auto& [stage, inputs] : stages_) {
    std::vector<int64_t> dims = {0, inputs.batches[0].dims[1], 0, 0};
    for (const Images& batch : inputs.batches) {
      dims[0] += batch.dims[0];
      dims[2] = std::max(dims[2], batch.dims[2]);
      dims[3] = std::max(dims[3], batch.dims[3]);
    }
    ASSIGN_OR_RETURN(Tensor all, Tensor::Allocate(VarType::FP32, dims));
    const absl::Span<float> values = all.mutable_data<float>();
    std::fill(values.begin(), values.end(), 0.0f);
    float* plane = values.data();
    for (const Images& batch : inputs.batches) {
      const float* from = batch.values.data();
      for (int64_t i = 0; i < batch.dims[0] * batch.dims[1]; ++i, plane += dims[2] * dims[3]) {
        for (int64_t y = 0; y < batch.dims[2]; ++y, from += batch.dims[3]) {
          std::copy_n(from, batch.dims[3], plane + y * dims[3]);
        }
      }
    }
    Scope arrays;
    arrays.Set(inputs.variable, std::move(all));
    ASSIGN_OR_RETURN(AtomicFile file,
                     StageNpz(arrays, absl::StrCat(folder, "/", StageName(stage), ".npz")));
    RETURN_IF_ERROR(file.Commit());
  }
  return absl::OkStatus();
}

}  // namespace ocr
}  // namespace fixpoint
