#include "runtime/training/fed_batches.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "ops/dims.h"
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

bool IsInteger(VarType::Type dtype) {
  return dtype == VarType::INT8 || dtype == VarType::UINT8 || dtype == VarType::INT16 ||
         dtype == VarType::INT32 || dtype == VarType::INT64;
}

// Labels have one element in each sample, or in each row of a sequence.
bool AreLabels(const SampleField& field, const std::string& variable,
               const NetworkVariables& variables) {
  const bool is_named = field.name == ImageSamples::kLabelsField ||
                        (!variable.empty() && variable == variables.labels);
  const absl::StatusOr<int64_t> elements = TensorSize(field.dims);
  return is_named && IsInteger(field.dtype) && elements.ok() && *elements == 1;
}

// "x.npy: ", or "" where the set has one place.
std::string PlaceOf(const SampleField& field) {
  return field.place.empty() ? "" : absl::StrCat(field.place, ": ");
}

// The extents of a sample as the program declares its variable, or those of the field where it
// leaves some open or none of them matter. Error: they are not what the program declares.
absl::StatusOr<std::vector<int64_t>> DimsOf(const Variable* variable, const SampleField& field) {
  const VarType::TensorDesc* const tensor = variable != nullptr ? variable->tensor() : nullptr;
  if (tensor == nullptr || tensor->dims_size() == 0) return field.dims;
  const std::vector<int64_t> dims(tensor->dims().begin() + 1, tensor->dims().end());
  const absl::StatusOr<int64_t> declared = ElementCount(dims);
  if (declared.ok() && *declared != kUnknownDim && *declared == *ElementCount(field.dims)) {
    return dims;
  }
  if (MayBeEqual(dims, field.dims)) return field.dims;
  // Exporters declare the extents of an example, but programs run with others, unless PaddlePaddle
  // would refuse what is fed.
  const bool is_example = tensor->dims(0) >= 0 && !variable->desc()->need_check_feed() &&
                          field.name != ImageSamples::kImagesField &&
                          dims.size() == field.dims.size();
  if (is_example) return field.dims;
  Dims batch(field.dims.begin(), field.dims.end());
  batch.insert(batch.begin(), kUnknownDim);
  return absl::InvalidArgumentError(absl::StrCat(
      PlaceOf(field), "samples of \"", field.name, "\" are fed as ", DimsText(batch),
      "; the program declares \"", std::string(variable->name()), "\" as ",
      DimsText(Dims(tensor->dims().begin(), tensor->dims().end())), ", where -1 is any extent"));
}

// Whether integers have to be widened to what the program takes.
absl::StatusOr<bool> IsWidened(const Variable* variable, const SampleField& field) {
  const VarType::TensorDesc* const tensor = variable != nullptr ? variable->tensor() : nullptr;
  if (tensor == nullptr || tensor->data_type() == field.dtype) return false;
  if (tensor->data_type() == VarType::INT64 && IsInteger(field.dtype)) return true;
  return absl::InvalidArgumentError(
      absl::StrCat(PlaceOf(field), "a sample of \"", field.name, "\" is ",
                   VarType::Type_Name(field.dtype), "; want what the program declares of \"",
                   std::string(variable->name()), "\", ", VarType::Type_Name(tensor->data_type())));
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
    const Variable* const declared =
        variable.empty() ? nullptr : program.Find(program.block(0), variable);
    FieldForm form;
    form.field = i;
    ASSIGN_OR_RETURN(form.dims, DimsOf(declared, fields[i]));
    ASSIGN_OR_RETURN(form.as_int64, IsWidened(declared, fields[i]));
    const bool are_int64 = form.as_int64 || fields[i].dtype == VarType::INT64;
    if (!variable.empty()) {
      forms.push_back(form);
      names.push_back(variable);
    }
    if (!are_labels) continue;
    // Labels that are not fed as INT64 are read beside what is fed.
    if (variable.empty() || !are_int64) {
      form.as_int64 = !are_int64;
      forms.push_back(form);
      names.emplace_back();
    }
    labels = forms.size() - 1;
  }
  RETURN_IF_ERROR(CheckNames(missing, unused));
  ASSIGN_OR_RETURN(Batcher batcher, Batcher::Create(set, forms, options));
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
