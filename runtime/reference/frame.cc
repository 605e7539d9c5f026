#include "runtime/reference/frame.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/backend.h"
#include "runtime/bool_bytes.h"
#include "runtime/finite_values.h"

namespace fixpoint::reference {

VarType::Type Frame::StoredType(VarType::Type dtype) const {
  return precision_ == Precision::kDouble && IsFloatingPoint(dtype) ? VarType::FP64 : dtype;
}

bool Frame::Holds(const Variable& variable) const {
  return owned_.contains(&variable) || (!variable.persistable() && block_ == &variable.block());
}

Frame& Frame::FrameOf(const Variable& variable) {
  Frame* frame = this;
  while (frame->outer_ != nullptr && !frame->Holds(variable)) {
    if (frame->forward_ != nullptr && frame->forward_->Holds(variable)) return *frame->forward_;
    frame = frame->outer_;
  }
  return *frame;
}

absl::StatusOr<const Array*> Frame::Find(const Variable& variable) {
  Frame& frame = FrameOf(variable);
  if (frame.outer_ == nullptr) return frame.FindGlobal(variable.name());
  const auto known = frame.entries_.find(variable.name());
  return known != frame.entries_.end() ? &known->second.value : nullptr;
}

absl::StatusOr<const Array*> Frame::FindGlobal(absl::string_view name) {
  const auto known = entries_.find(name);
  if (known != entries_.end()) return &known->second.value;
  const Scope::Value* stored = scope_->FindOrNull(name);
  if (stored == nullptr) return nullptr;
  const Tensor* tensor = std::get_if<Tensor>(stored);
  if (tensor == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("variable \"", name, "\" holds selected rows; want a tensor"));
  }
  return Hold(name, *tensor);
}

absl::Status Frame::Feed(absl::string_view name, const Tensor& value) {
  return Hold(name, value).status();
}

absl::StatusOr<const Array*> Frame::Hold(absl::string_view name, const Tensor& tensor) {
  const std::string place = absl::StrCat("variable \"", name, "\"");
  if (absl::Status status = CheckBoolBytes(tensor); !status.ok()) return AtPlace(place, status);
  if (check_finite_) {
    if (absl::Status status = CheckFinite(tensor); !status.ok()) return AtPlace(place, status);
  }
  absl::StatusOr<Array> array = ArrayOf(tensor);
  if (!array.ok()) {
    return absl::Status(array.status().code(),
                        absl::StrCat(place, " has ", array.status().message()));
  }
  array->dtype = StoredType(array->dtype);
  return &entries_.emplace(name, Entry{*std::move(array), false}).first->second.value;
}

void Frame::Set(const Variable& variable, Array value) {
  value.dtype = StoredType(value.dtype);
  for (double& element : value.values) element = Rounded(element, value.dtype);
  if (value.rows != nullptr) {
    TableRows rows = *value.rows;
    for (double& element : rows.values) element = Rounded(element, value.dtype);
    value.rows = std::make_shared<const TableRows>(std::move(rows));
  }
  FrameOf(variable).entries_[variable.name()] = {std::move(value), variable.persistable()};
}

absl::Status Frame::Store() {
  std::vector<std::pair<std::string, Tensor>> stored;
  for (const auto& [name, entry] : entries_) {
    if (!entry.is_stored || entry.value.elements) continue;
    ASSIGN_OR_RETURN(Tensor tensor, TensorOf(entry.value));
    stored.emplace_back(name, std::move(tensor));
  }
  for (auto& [name, tensor] : stored) scope_->Set(name, std::move(tensor));
  return absl::OkStatus();
}

}  // namespace fixpoint::reference
