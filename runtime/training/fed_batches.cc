#include "runtime/training/fed_batches.h"

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "runtime/data/image_samples.h"

namespace fixpoint {
namespace {

// "" if the field is not fed.
std::string VariableOf(const Program& program, const SampleField& field,
                       const NetworkVariables& variables) {
  if (field.name == ImageSamples::kImagesField) return variables.images;
  if (field.name == ImageSamples::kLabelsField) return variables.labels;
  for (const Variable* variable : FedVariables(program)) {
    if (variable->name() == field.name) return field.name;
  }
  return "";
}

// The extents of a sample as the program declares its variable; those of the field where it does
// not.
std::vector<int64_t> DimsOf(const Program& program, const std::string& name,
                            const SampleField& field) {
  const Variable* variable = program.Find(program.block(0), name);
  const VarType::TensorDesc* tensor = variable != nullptr ? variable->tensor() : nullptr;
  if (tensor == nullptr || tensor->dims_size() < 2) return field.dims;
  std::vector<int64_t> dims(tensor->dims().begin() + 1, tensor->dims().end());
  const bool is_known = std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
  return is_known ? dims : field.dims;
}

}  // namespace

absl::StatusOr<FedBatches> FedBatches::Create(const Program& program, const SampleSet* set,
                                              const NetworkVariables& variables,
                                              const BatchOptions& options) {
  std::vector<FieldForm> forms;
  std::vector<std::string> fed;
  std::optional<size_t> labels;
  const absl::Span<const SampleField> fields = set->fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool is_labels = fields[i].name == ImageSamples::kLabelsField;
    const std::string variable = VariableOf(program, fields[i], variables);
    if (variable.empty() && !is_labels) continue;
    if (is_labels) labels = forms.size();
    forms.push_back({i, DimsOf(program, variable, fields[i])});
    fed.push_back(variable);
  }
  ASSIGN_OR_RETURN(Batcher batcher, Batcher::Create(set, std::move(forms), options));
  return FedBatches(std::move(batcher), std::move(fed), labels);
}

std::vector<Feed> FedBatches::FeedsOf(const Batch& batch) const {
  std::vector<Feed> feeds;
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (!variables_[i].empty()) feeds.push_back({variables_[i], &batch.values[i]});
  }
  return feeds;
}

const Tensor* FedBatches::LabelsOf(const Batch& batch) const {
  return labels_ ? &batch.values[*labels_] : nullptr;
}

}  // namespace fixpoint
