#include "runtime/training/rate_schedule.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

constexpr double kPi = 3.14159265358979323846;

absl::Status BadSchedule(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is no learning rate; want a rate such as 0.1, cosine:0.1, linear:0.1, or "
                   "piecewise:0.1,0.01@STEP with steps that ascend; ,warmup=STEPS may follow"));
}

bool IsPersistableNumber(const Variable& variable) {
  if (!variable.persistable() || !variable.is_dense_tensor()) return false;
  const VarType::TensorDesc& tensor = *variable.tensor();
  if (tensor.data_type() != VarType::FP32 && tensor.data_type() != VarType::FP64) return false;
  return std::all_of(tensor.dims().begin(), tensor.dims().end(), [](int64_t d) { return d == 1; });
}

// Adds the persistable numbers that `variable` is computed from and that no op writes.
void AddFedNumbers(const Variable& variable, std::set<const Variable*>* seen,
                   std::set<std::string>* fed) {
  if (!seen->insert(&variable).second) return;
  bool is_written = false;
  for (const Argument* argument : variable.arguments()) {
    if (!argument->is_output()) continue;
    is_written = true;
    for (const Argument* input : argument->op().inputs()) {
      if (input->variable() != nullptr) AddFedNumbers(*input->variable(), seen, fed);
    }
  }
  if (!is_written && IsPersistableNumber(variable)) fed->insert(variable.name());
}

}  // namespace

absl::StatusOr<RateSchedule> RateSchedule::Parse(absl::string_view text) {
  RateSchedule schedule;
  absl::string_view rates = text;
  if (absl::ConsumePrefix(&rates, "cosine:")) {
    schedule.shape_ = Shape::kCosine;
  } else if (absl::ConsumePrefix(&rates, "linear:")) {
    schedule.shape_ = Shape::kLinear;
  } else if (!absl::ConsumePrefix(&rates, "piecewise:") && absl::StrContains(rates, '@')) {
    return BadSchedule(text);
  }
  for (absl::string_view part : absl::StrSplit(rates, ',')) {
    if (absl::ConsumePrefix(&part, "warmup=")) {
      const bool is_first_warmup = schedule.warmup_ == 0 && !schedule.pieces_.empty();
      if (!is_first_warmup || !absl::SimpleAtoi(part, &schedule.warmup_) || schedule.warmup_ < 1) {
        return BadSchedule(text);
      }
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> rate_and_step =
        absl::StrSplit(part, absl::MaxSplits('@', 1));
    Piece piece;
    const bool is_first = schedule.pieces_.empty();
    const bool names_a_step = absl::StrContains(part, '@');
    if (schedule.warmup_ > 0 || is_first == names_a_step ||
        !absl::SimpleAtod(rate_and_step.first, &piece.rate) || !std::isfinite(piece.rate) ||
        piece.rate < 0) {
      return BadSchedule(text);
    }
    if (names_a_step &&
        (schedule.depends_on_length() || !absl::SimpleAtoi(rate_and_step.second, &piece.from) ||
         piece.from <= schedule.pieces_.back().from)) {
      return BadSchedule(text);
    }
    schedule.pieces_.push_back(piece);
  }
  return schedule;
}

double RateSchedule::At(int64_t step, int64_t steps) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), step,
                                      [](int64_t s, const Piece& piece) { return s < piece.from; });
  double rate = std::prev(after)->rate;
  const double done = static_cast<double>(step) / static_cast<double>(steps);
  if (shape_ == Shape::kCosine) rate *= (1 + std::cos(kPi * done)) / 2;
  if (shape_ == Shape::kLinear) rate *= 1 - done;
  if (step < warmup_) rate *= static_cast<double>(step + 1) / static_cast<double>(warmup_);
  return rate;
}

absl::StatusOr<std::string> FindFedRate(const Program& program) {
  std::set<std::string> fed;
  std::set<const Variable*> seen;
  const Op* reader = nullptr;
  for (int b = 0; b < program.block_count(); ++b) {
    for (const Op& op : program.block(b).ops()) {
      const Argument* rate = (op.role() & kOptimize) != 0 ? op.Input("LearningRate") : nullptr;
      if (rate == nullptr || rate->variable() == nullptr) continue;
      if (reader == nullptr) reader = &op;
      AddFedNumbers(*rate->variable(), &seen, &fed);
    }
  }
  if (reader == nullptr) {
    return absl::InvalidArgumentError("no op of an optimizer reads a learning rate");
  }
  if (fed.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(*reader), " reads a learning rate that the program computes itself"));
  }
  if (fed.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the learning rates come from several variables, ", absl::StrJoin(fed, ", "),
                     "; want one that all optimizer ops read"));
  }
  return *fed.begin();
}

std::string FindFirstRate(const Program& program) {
  for (const Op& op : program.ops()) {
    const Argument* rate = (op.role() & kOptimize) != 0 ? op.Input("LearningRate") : nullptr;
    if (rate != nullptr) return std::string(rate->name());
  }
  return "";
}

absl::Status SetRate(const std::string& variable, double rate, Scope* scope) {
  Scope::Value* const value = scope->FindOrNull(variable);
  Tensor* const tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
  if (tensor != nullptr && tensor->size() == 1 && tensor->dtype() == VarType::FP32) {
    tensor->mutable_data<float>()[0] = static_cast<float>(rate);
    return absl::OkStatus();
  }
  if (tensor != nullptr && tensor->size() == 1 && tensor->dtype() == VarType::FP64) {
    tensor->mutable_data<double>()[0] = rate;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the learning rate \"", variable, "\" is not one number of FP32 or FP64"));
}

}  // namespace fixpoint
