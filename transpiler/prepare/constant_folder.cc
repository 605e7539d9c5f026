#include "transpiler/prepare/constant_folder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/attribute_inputs.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/uses.h"
#include "transpiler/prepare/constants.h"

namespace fixpoint {
namespace {

constexpr int64_t kMostGrowth = int64_t{1} << 20;

bool StandsForAttribute(const Argument& reader) {
  const auto inputs = AttributeInputs();
  return std::any_of(inputs.begin(), inputs.end(), [&reader](const AttributeInput& input) {
    return input.slot == reader.slot_name();
  });
}

// The bytes of a tensor as it is declared; nothing where an extent is not known.
std::optional<int64_t> DeclaredBytes(const Variable& variable) {
  const VarType::TensorDesc& tensor = *variable.tensor();
  const Dims dims(tensor.dims().begin(), tensor.dims().end());
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; })) {
    return std::nullopt;
  }
  const absl::StatusOr<int64_t> bytes = TensorBytes(tensor.data_type(), dims);
  return bytes.ok() ? std::optional(*bytes) : std::nullopt;
}

}  // namespace

ConstantFolder::ConstantFolder(Program* program, EditedParameters* parameters,
                               std::vector<std::string>* notes, absl::string_view pass)
    : program_(*program),
      parameters_(*parameters),
      notes_(*notes),
      rewriter_(program, pass),
      named_(NamesInAllAttributes(*program)) {}

std::optional<std::vector<const Argument*>> ConstantFolder::ResultsOfConstant(const Op& op) const {
  if (!IsConstant(op, parameters_)) return std::nullopt;
  int64_t allowed = kMostGrowth;
  for (const Argument* input : op.inputs()) {
    const Tensor* const tensor = FindConstant(input, parameters_);
    if (tensor != nullptr) allowed += static_cast<int64_t>(tensor->bytes().size());
  }
  std::vector<const Argument*> results;
  for (const Argument* output : op.outputs()) {
    if (output->value() == nullptr) continue;
    if (!HoldsOneValue(*output->variable())) return std::nullopt;
    if (IsUnread(*output->value())) continue;
    if (!CanBeParameter(*output, &allowed)) return std::nullopt;
    results.push_back(output);
  }
  return results.empty() ? std::nullopt : std::optional(std::move(results));
}

bool ConstantFolder::HoldsOneValue(const Variable& variable) const {
  return variable.values().size() == 1 && variable.is_dense_tensor() && !variable.persistable() &&
         !named_.contains(variable.name());
}

bool ConstantFolder::CanBeParameter(const Argument& output, int64_t* allowed) {
  const auto readers = output.value()->readers();
  if (std::any_of(readers.begin(), readers.end(),
                  [](const Argument* reader) { return StandsForAttribute(*reader); })) {
    return false;
  }
  const std::optional<int64_t> bytes = DeclaredBytes(*output.variable());
  if (!bytes || *bytes > *allowed) return false;
  *allowed -= *bytes;
  return true;
}

absl::Status ConstantFolder::Fold(const Op& op) {
  const std::optional<std::vector<const Argument*>> results = ResultsOfConstant(op);
  if (!results) return absl::OkStatus();
  absl::StatusOr<std::vector<Tensor>> tensors = Evaluate(program_, op, *results, parameters_);
  if (!tensors.ok()) {
    notes_.push_back(absl::StrCat(DescribeInFile(op),
                                  " reads only constants, and cannot be computed: ",
                                  std::string(tensors.status().message())));
    return absl::OkStatus();
  }
  for (const Tensor& tensor : *tensors) {
    if (!tensor.lod().empty()) return absl::OkStatus();
  }
  for (size_t i = 0; i < results->size(); ++i) {
    MakeParameter(*(*results)[i]->variable(), std::move((*tensors)[i]));
  }
  rewriter_.Remove(op);
  return absl::OkStatus();
}

void ConstantFolder::MakeParameter(const Variable& variable, Tensor tensor) {
  VarDesc desc = *variable.desc();
  desc.set_persistable(true);
  VarType::TensorDesc& type = *desc.mutable_type()->mutable_lod_tensor()->mutable_tensor();
  type.set_data_type(tensor.dtype());
  type.clear_dims();
  for (const int64_t dim : tensor.dims()) type.add_dims(dim);
  rewriter_.SetVariable(variable, std::move(desc));
  parameters_.added.Set(variable.name(), std::move(tensor));
}

}  // namespace fixpoint
