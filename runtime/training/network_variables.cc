#include "runtime/training/network_variables.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

bool IsFloat(const Variable& variable) {
  const VarType::TensorDesc* tensor = variable.tensor();
  return tensor != nullptr &&
         (tensor->data_type() == VarType::FP32 || tensor->data_type() == VarType::FP64);
}

absl::Status CheckDeclared(const Program& program, const std::string& name,
                           absl::string_view what) {
  if (name.empty() || program.Find(program.block(0), name) != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("block 0 has no variable \"", name, "\", which is to be ", what));
}

// The only fed variable that is floating point, or that is not; "" if there is none.
absl::StatusOr<std::string> OnlyFed(const Program& program, bool is_float, absl::string_view what) {
  std::vector<std::string> names;
  for (const Variable* variable : FedVariables(program)) {
    if (IsFloat(*variable) == is_float) names.push_back(variable->name());
  }
  if (names.size() <= 1) return names.empty() ? "" : names[0];
  return absl::InvalidArgumentError(absl::StrCat("which of the fed variables ",
                                                 absl::StrJoin(names, ", "), " is ", what,
                                                 " is not known; want it named"));
}

// A backward pass begins with a constant, the gradient of the loss.
std::string LossOf(const Program& program) {
  for (const Op& op : program.block(0).ops()) {
    const Argument* gradient = op.Output("Out");
    if (op.role() != (kBackward | kLoss) || gradient == nullptr) continue;
    return std::string(absl::StripSuffix(gradient->name(), kGradientSuffix));
  }
  return "";
}

// The input of a cross entropy that holds a row of classes for each label.
absl::string_view ScoresSlot(absl::string_view op_type) {
  if (op_type == "softmax_with_cross_entropy") return "Logits";
  if (op_type == "cross_entropy" || op_type == "cross_entropy2") return "X";
  return "";
}

// The first cross entropy whose labels are this variable, or, if that is "", a fed one.
const Op* CrossEntropyOf(const Program& program, const std::string& labels) {
  const std::vector<std::string> fed = NamesOf(FedVariables(program));
  for (const Op& op : program.block(0).ops()) {
    const Argument* label = op.Input("Label");
    if (ScoresSlot(op.type()).empty() || label == nullptr) continue;
    const bool is_wanted = labels.empty() ? std::count(fed.begin(), fed.end(), label->name()) > 0
                                          : label->name() == labels;
    if (is_wanted) return &op;
  }
  return nullptr;
}

std::string LabelsOf(const Program& program) {
  const Op* const op = CrossEntropyOf(program, "");
  return op == nullptr ? "" : std::string(op->Input("Label")->name());
}

std::string ScoresOf(const Program& program, const std::string& labels) {
  const Op* const op = labels.empty() ? nullptr : CrossEntropyOf(program, labels);
  const Argument* const scores = op == nullptr ? nullptr : op->Input(ScoresSlot(op->type()));
  if (scores != nullptr) return std::string(scores->name());
  const std::vector<const Variable*> fetched = FetchedVariables(program);
  return fetched.size() == 1 ? fetched[0]->name() : "";
}

absl::Status FindImagesAndLabels(const Program& program, NetworkVariables& named) {
  if (named.images.empty()) {
    ASSIGN_OR_RETURN(named.images, OnlyFed(program, /*is_float=*/true, "the images"));
  }
  if (named.images.empty()) {
    return absl::InvalidArgumentError("no variable of block 0 is fed images");
  }
  if (named.labels.empty()) {
    ASSIGN_OR_RETURN(named.labels, OnlyFed(program, /*is_float=*/false, "the labels"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NetworkVariables> FindNetworkVariables(const Program& program,
                                                      NetworkVariables named,
                                                      NetworkInputs inputs) {
  RETURN_IF_ERROR(CheckDeclared(program, named.images, "fed images"));
  RETURN_IF_ERROR(CheckDeclared(program, named.labels, "fed labels"));
  RETURN_IF_ERROR(CheckDeclared(program, named.loss, "the loss"));
  RETURN_IF_ERROR(CheckDeclared(program, named.scores, "the scores of the classes"));
  for (const std::string& metric : named.metrics) {
    RETURN_IF_ERROR(CheckDeclared(program, metric, "a metric"));
  }
  if (inputs == NetworkInputs::kAny) {
    if (named.labels.empty()) named.labels = LabelsOf(program);
  } else {
    RETURN_IF_ERROR(FindImagesAndLabels(program, named));
  }
  if (named.loss.empty()) named.loss = LossOf(program);
  if (named.scores.empty()) named.scores = ScoresOf(program, named.labels);
  return named;
}

}  // namespace fixpoint
