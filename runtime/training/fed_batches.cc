#include "runtime/training/fed_batches.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "proto/wire/program.pb.h"
#include "runtime/data/image_samples.h"

namespace fixpoint {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "" if the field is not fed.
std::string VariableOf(const SampleField& field, const NetworkVariables& variables,
                       const std::vector<std::string>& fed) {
  const bool is_images = field.name == ImageSamples::kImagesField;
  if (is_images && !variables.images.empty()) return variables.images;
  const bool is_labels = field.name == ImageSamples::kLabelsField;
  if (is_labels && !variables.labels.empty()) return variables.labels;
  return Contains(fed, field.name) ? field.name : "";
}

// Labels have one element in each sample, or in each row of a sequence.
bool AreLabels(const SampleField& field, const std::string& variable,
               const NetworkVariables& variables) {
  const bool is_named = field.name == ImageSamples::kLabelsField ||
                        (!variable.empty() && variable == variables.labels);
  const absl::StatusOr<int64_t> elements = TensorSize(field.dims);
  return is_named && field.dtype == VarType::INT64 && elements.ok() && *elements == 1;
}

const VarType::TensorDesc* DeclaredTensor(const Program& program, const std::string& name) {
  const Variable* variable = program.Find(program.block(0), name);
  return variable != nullptr ? variable->tensor() : nullptr;
}

// The extents of a sample as the program declares its variable; those of the field where it does
// not.
std::vector<int64_t> DimsOf(const Program& program, const std::string& name,
                            const SampleField& field) {
  const VarType::TensorDesc* tensor = DeclaredTensor(program, name);
  if (tensor == nullptr || tensor->dims_size() == 0) return field.dims;
  std::vector<int64_t> dims(tensor->dims().begin() + 1, tensor->dims().end());
  const bool is_known = std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
  if (!is_known) return field.dims;
  // Exporters declare the extents of an example, but programs run with others.
  const bool is_example = field.name != ImageSamples::kImagesField &&
                          dims.size() == field.dims.size() && TensorSize(dims).ok() &&
                          *TensorSize(dims) != *TensorSize(field.dims);
  return is_example ? field.dims : dims;
}

absl::Status CheckType(const Program& program, const std::string& name, const SampleField& field) {
  const VarType::TensorDesc* tensor = DeclaredTensor(program, name);
  if (tensor == nullptr || tensor->data_type() == field.dtype) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a sample of \"", field.name, "\" is ",
                                                 VarType::Type_Name(field.dtype),
                                                 "; want what the program declares of \"", name,
                                                 "\", ", VarType::Type_Name(tensor->data_type())));
}

// A variable that no field is fed to may not be needed, and a field that is not fed may be for
// another program; both together are a wrong name.
absl::Status CheckNames(const std::vector<std::string>& missing,
                        const std::vector<std::string>& unused) {
  if (missing.empty() || unused.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the program is fed \"", missing[0],
                   "\", and no field of the samples has that name; not fed are \"",
                   absl::StrJoin(unused, "\", \""), "\""));
}

}  // namespace

absl::StatusOr<FedBatches> FedBatches::Create(const Program& program, const SampleSet* set,
                                              const NetworkVariables& variables,
                                              const BatchOptions& options) {
  std::vector<std::string> missing = NamesOf(FedVariables(program));
  const std::vector<std::string> fed = missing;
  std::vector<FieldForm> forms;
  std::vector<std::string> names;
  std::vector<std::string> unused;
  std::optional<size_t> labels;
  const absl::Span<const SampleField> fields = set->fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string variable = VariableOf(fields[i], variables, fed);
    const bool are_labels = AreLabels(fields[i], variable, variables);
    if (variable.empty() && !are_labels) {
      unused.push_back(fields[i].name);
      continue;
    }
    missing.erase(std::remove(missing.begin(), missing.end(), variable), missing.end());
    if (are_labels) labels = forms.size();
    forms.push_back({i, DimsOf(program, variable, fields[i])});
    names.push_back(variable);
  }
  RETURN_IF_ERROR(CheckNames(missing, unused));
  ASSIGN_OR_RETURN(Batcher batcher, Batcher::Create(set, forms, options));
  for (size_t i = 0; i < forms.size(); ++i) {
    RETURN_IF_ERROR(CheckType(program, names[i], fields[forms[i].field]));
  }
  return FedBatches(std::move(batcher), std::move(names), labels);
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
