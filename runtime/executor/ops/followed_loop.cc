#include "runtime/executor/ops/followed_loop.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/strings/string_view.h"
#include "proto/program/op.h"
#include "runtime/executor/block_crossing.h"
#include "runtime/executor/known_values.h"
#include "runtime/executor/ops/tensor_arrays.h"

namespace fixpoint::executor {
namespace {

class FollowedLoop {
 public:
  FollowedLoop(const PlanBuilder& around, const BlockInPlanning& block, const Value& condition)
      : around_(around), inner_(block.builder), written_(block.crossing.written) {
    for (const Value* read : block.crossing.reads) Begin(*read, *read);
    for (const WrittenAround& written : written_) {
      Begin(*written.before, *written.head);
      if (IsArray(*written.after)) arrays_[written.head] = ContentsOf(around, written.before);
      if (written.before == &condition) condition_ = &written;
    }
  }

  std::vector<ArrayContents> Follow() {
    constexpr int kMostRuns = 1 << 14;
    std::optional<std::vector<ArrayContents>> ended;
    for (int run = 0; run < kMostRuns && condition_ != nullptr; ++run) {
      const std::optional<bool> goes_on = GoesOn();
      if (!goes_on || !*goes_on) AddEnd(&ended);
      if (goes_on && !*goes_on) return *std::move(ended);
      // It may be known later if it combines several.
      if (!goes_on && run > 0 && !has_combined_) break;
      Run();
    }
    return {};
  }

 private:
  bool IsArray(const Value& value) const { return inner_.Attached<HeldArray>(value) != nullptr; }

  // A value of the block begins with an outer one.
  void Begin(const Value& outer, const Value& value) {
    if (!around_.IsPlanned(outer) || !inner_.IsPlanned(value)) return;
    const auto numbers = around_.FindKnown(outer);
    const std::optional<Buffer> elements = inner_.FindElements(value);
    if (numbers && elements) known_.Set(*elements, *numbers, inner_.buffers());
  }

  std::optional<std::vector<double>> Numbers(const Value& value) const {
    if (!inner_.IsPlanned(value)) return std::nullopt;
    const std::optional<Buffer> elements = inner_.FindElements(value);
    return elements ? known_.Find(*elements, inner_.buffers()) : std::nullopt;
  }

  std::optional<bool> GoesOn() const {
    const auto numbers = Numbers(*condition_->head);
    return numbers && numbers->size() == 1 ? std::optional(numbers->front() != 0) : std::nullopt;
  }

  ArrayContents Contents(const Value* value) const {
    const auto found = arrays_.find(value);
    return found != arrays_.end() ? found->second : ContentsOf(inner_, value);
  }

  // The loop may end here.
  void AddEnd(std::optional<std::vector<ArrayContents>>* ended) const {
    std::vector<ArrayContents> here;
    for (const WrittenAround& written : written_) here.push_back(Contents(written.head));
    if (!*ended) *ended = here;
    for (size_t i = 0; i < here.size(); ++i) (**ended)[i] = OneOf((**ended)[i], here[i]);
  }

  void Run() {
    for (const Step& step : inner_.steps()) {
      known_.Note(step, inner_.buffers());
      if (step.op == nullptr) continue;
      const absl::string_view type = step.op->type();
      if (type == "logical_and") NoteCombined(step, false);
      if (type == "logical_or") NoteCombined(step, true);
      if (type == "lod_array_length" && step.in_each_run) NoteLength(step);
      if (type == "write_to_array" && step.in_each_run) NoteWrite(*step.op);
    }
    std::vector<std::optional<std::vector<double>>> numbers;
    std::vector<ArrayContents> arrays;
    for (const WrittenAround& written : written_) {
      numbers.push_back(Numbers(*written.after));
      arrays.push_back(Contents(written.after));
    }
    arrays_.clear();
    for (size_t i = 0; i < written_.size(); ++i) {
      const Value& head = *written_[i].head;
      if (IsArray(*written_[i].after)) arrays_[&head] = std::move(arrays[i]);
      if (!inner_.IsPlanned(head)) continue;
      const std::optional<Buffer> elements = inner_.FindElements(head);
      if (!elements) continue;
      if (numbers[i]) {
        known_.Set(*elements, *numbers[i], inner_.buffers());
      } else {
        known_.Forget(*elements);
      }
    }
  }

  // An op that gives `decisive` if an operand is that, whatever the other one is.
  void NoteCombined(const Step& step, bool decisive) {
    has_combined_ = true;
    const bool is_decided = std::any_of(step.reads.begin(), step.reads.end(), [&](Buffer read) {
      const auto numbers = known_.Find(read, inner_.buffers());
      return numbers && numbers->size() == 1 && (numbers->front() != 0) == decisive;
    });
    if (!is_decided || step.writes.size() != 1 || step.writes[0].size != 1) return;
    known_.Set(step.writes[0], {decisive ? 1.0 : 0.0}, inner_.buffers());
  }

  void NoteLength(const Step& step) {
    const ArrayContents contents = Contents(step.op->Input("X")->value());
    if (!contents.tensors) return;
    known_.Set(step.writes[0], {static_cast<double>(contents.tensors->size())}, inner_.buffers());
  }

  void NoteWrite(const Op& op) {
    const Value* const before = ValueBefore(*op.Output("Out")->value());
    const Value& x = *op.Input("X")->value();
    const auto place = Numbers(*op.Input("I")->value());
    const bool is_decided = inner_.RunShapeOf(x) != nullptr;
    ArrayContents contents = Contents(before);
    // Nothing reads it any more.
    arrays_.erase(before);
    contents.Write(place ? std::optional(static_cast<int64_t>(place->front())) : std::nullopt,
                   is_decided ? std::nullopt : std::optional(inner_.TypeOf(x).dims));
    arrays_[op.Output("Out")->value()] = std::move(contents);
  }

  const PlanBuilder& around_;
  const PlanBuilder& inner_;
  const std::vector<WrittenAround>& written_;
  const WrittenAround* condition_ = nullptr;
  bool has_combined_ = false;  // whether the block has such an op
  KnownValues known_;
  std::unordered_map<const Value*, ArrayContents> arrays_;  // of this run
};

}  // namespace

std::vector<ArrayContents> ContentsAfterLoop(const PlanBuilder& around,
                                             const BlockInPlanning& block, const Value& condition) {
  const std::vector<WrittenAround>& written = block.crossing.written;
  const bool has_arrays = std::any_of(written.begin(), written.end(), [&](const auto& variable) {
    return block.builder.template Attached<HeldArray>(*variable.after) != nullptr;
  });
  if (!has_arrays) return {};
  return FollowedLoop(around, block, condition).Follow();
}

}  // namespace fixpoint::executor
