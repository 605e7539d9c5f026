#include "runtime/executor/ops/followed_loop.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/strings/string_view.h"
#include "proto/program/op.h"
#include "runtime/executor/block_crossing.h"
#include "runtime/executor/known_values.h"
#include "runtime/executor/ops/tensor_arrays.h"
#include "runtime/executor/tensor_array.h"

namespace fixpoint::executor {
namespace {

// What a loop may do while it is followed: steps of its block, and tensors of arrays that are
// compared where it may end.
constexpr int64_t kMostWork = 1 << 17;

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
    std::optional<std::vector<ArrayContents>> ended;
    for (int run = 0; work_ < kMostWork && condition_ != nullptr; ++run) {
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

  // The same of a value that nothing reads any more.
  ArrayContents TakeContents(const Value* value) {
    const auto found = arrays_.find(value);
    if (found == arrays_.end()) return ContentsOf(inner_, value);
    ArrayContents contents = std::move(found->second);
    arrays_.erase(found);
    return contents;
  }

  // The loop may end here.
  void AddEnd(std::optional<std::vector<ArrayContents>>* ended) {
    std::vector<ArrayContents> here;
    for (const WrittenAround& written : written_) here.push_back(Contents(written.head));
    for (const ArrayContents& contents : here) {
      work_ += contents.tensors ? static_cast<int64_t>(contents.tensors->size()) : 0;
    }
    if (!*ended) *ended = here;
    for (size_t i = 0; i < here.size(); ++i) (**ended)[i] = OneOf((**ended)[i], here[i]);
  }

  void Run() {
    has_combined_ = false;
    work_ += 1 + static_cast<int64_t>(inner_.steps().size());
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
      arrays.push_back(TakeContents(written.after));
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
    bool is_decided = false;
    for (const Buffer read : step.reads) {
      const auto numbers = known_.Find(read, inner_.buffers());
      if (!numbers || numbers->size() != 1) continue;
      has_combined_ = true;
      is_decided = is_decided || (numbers->front() != 0) == decisive;
    }
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
    ArrayContents contents = TakeContents(before);
    const bool is_place = place && place->size() == 1 && place->front() >= 0 &&
                          place->front() < TensorArray::kMostElements;
    contents.Write(is_place ? std::optional(static_cast<int64_t>(place->front())) : std::nullopt,
                   is_decided ? std::nullopt : std::optional(inner_.TypeOf(x).dims));
    arrays_[op.Output("Out")->value()] = std::move(contents);
  }

  const PlanBuilder& around_;
  const PlanBuilder& inner_;
  const std::vector<WrittenAround>& written_;
  const WrittenAround* condition_ = nullptr;
  bool has_combined_ = false;  // whether this run has combined a flag that is known with others
  int64_t work_ = 0;           // kMostWork
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
