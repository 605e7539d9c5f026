#include "transpiler/patterns/match_conditions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "transpiler/patterns/replaced_gradients.h"

namespace fixpoint {
namespace {

using Kind = PatternValue::Kind;

class Conditions {
 public:
  Conditions(const Match& match, const ReplacedGradients& gradients,
             const absl::flat_hash_set<std::string>& named)
      : match_(match), gradients_(gradients), named_(named), last_(match.last_op()) {
    FindConstants();
  }

  // Whether all hold; if not, `obstacle` says why.
  bool Hold(Obstacle* obstacle) {
    obstacle_ = obstacle;
    for (const Op* op : match_.ops) {
      for (const Argument* output : op->outputs()) {
        if (output->value() == nullptr) continue;
        const int result = ResultOf(*output->value());
        if (result < 0 ? !GoesAlong(*output) : !CanBeWrittenLast(*output)) return false;
      }
      for (const Argument* input : op->inputs()) {
        if (input->value() == nullptr || IsMatched(*input->value())) continue;
        if (!StaysUntil(*input, last_)) return false;
        if (gradients_.first != nullptr && !StaysUntil(*input, *gradients_.first)) return false;
      }
    }
    return CapturesAreNotWritten();
  }

 private:
  bool Fail(const Op& op, std::string reason) {
    *obstacle_ = {&op, std::move(reason)};
    return false;
  }

  // The result that a value is; -1 if it is none.
  int ResultOf(const Value& value) const {
    const std::vector<PatternValue>& values = match_.pattern->values;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].kind == Kind::kResult && match_.values[i] == &value) return static_cast<int>(i);
    }
    return -1;
  }
  bool IsMatched(const Value& value) const {
    return value.written_by() != nullptr && match_.Has(*value.op());
  }
  bool IsReplaced(const Op& op) const { return match_.Has(op) || gradients_.ops.contains(&op); }

  static std::string ReadBy(const Argument& output, const Op& reader, absl::string_view which) {
    return absl::StrCat(std::string(output.slot_name()), " is read by ", DescribeGiven(reader),
                        which);
  }

  // Condition 1, and what 4 says of such values.
  bool GoesAlong(const Argument& output) {
    const Value& value = *output.value();
    const Variable& variable = value.variable();
    for (const Argument* reader : value.readers()) {
      if (!IsReplaced(reader->op())) {
        return Fail(output.op(), ReadBy(output, reader->op(), ", which is not matched"));
      }
    }
    for (const Value* other : variable.values()) {
      const auto& merged = other->merged();
      if (std::find(merged.begin(), merged.end(), &value) != merged.end()) {
        return Fail(output.op(), ReadBy(output, *other->op(), ", which runs a block"));
      }
    }
    const std::string named = absl::StrCat(output.slot_name(), " is \"", variable.name(), "\", ");
    if (variable.persistable()) {
      return Fail(output.op(), absl::StrCat(named, "which is kept from run to run"));
    }
    if (named_.contains(variable.name())) {
      return Fail(output.op(), absl::StrCat(named, "which an attribute names"));
    }
    if (gradients_.first == nullptr) return true;
    if (variable.values().size() > 1) {
      return Fail(output.op(), absl::StrCat(named,
                                            "which is written twice in a program with "
                                            "gradients"));
    }
    if (variable.desc() != nullptr && variable.desc()->stop_gradient() && PassesGradient(value)) {
      return Fail(output.op(), absl::StrCat(named, "which stops gradients"));
    }
    return true;
  }

  // Whether the pattern names the value, and computes it from others, so that gradients might pass
  // it.
  bool PassesGradient(const Value& value) const {
    return std::find(match_.values.begin(), match_.values.end(), &value) != match_.values.end() &&
           !constants_.contains(&value);
  }

  void FindConstants() {
    std::vector<const Op*> in_order = match_.ops;
    std::sort(in_order.begin(), in_order.end(),
              [](const Op* a, const Op* b) { return a->IsBefore(*b); });
    for (const Op* op : in_order) {
      const auto inputs = op->inputs();
      const bool is_constant =
          std::all_of(inputs.begin(), inputs.end(), [this](const Argument* input) {
            return input->value() == nullptr || constants_.contains(input->value());
          });
      if (!is_constant) continue;
      for (const Argument* output : op->outputs()) constants_.insert(output->value());
    }
  }

  // The op of the match's block that is, or runs, an op.
  const Op* InBlock(const Op& op) const {
    const Op* here = &op;
    while (here != nullptr && &here->block() != &last_.block()) here = here->block().owner();
    return here;
  }
  bool IsBetween(const Op& op, const Op& from, const Op& to) const {
    const Op* const here = InBlock(op);
    return here != nullptr && from.IsBefore(*here) && here->IsBefore(to);
  }

  // Condition 3, and what 4 says of results.
  bool CanBeWrittenLast(const Argument& output) {
    const Value& value = *output.value();
    for (const Argument* reader : value.readers()) {
      if (gradients_.first != nullptr && match_.Has(reader->op())) {
        return Fail(output.op(), ReadBy(output, reader->op(),
                                        ", whose gradient would be part of that of the result"));
      }
      if (!match_.Has(reader->op()) && IsBetween(reader->op(), output.op(), last_)) {
        return Fail(output.op(), ReadBy(output, reader->op(),
                                        ", which stands before the last op that is matched"));
      }
    }
    for (const Value* other : value.variable().values()) {
      if (other != &value && other->op() != nullptr &&
          IsBetween(*other->op(), output.op(), last_)) {
        return Fail(output.op(), absl::StrCat(output.slot_name(), " is written again by ",
                                              DescribeGiven(*other->op()),
                                              ", which stands before the last op that is matched"));
      }
    }
    if (gradients_.first != nullptr && value.variable().values().size() > 1) {
      return Fail(output.op(), absl::StrCat(output.slot_name(), " is \"", value.variable().name(),
                                            "\", which is written twice in a program with "
                                            "gradients"));
    }
    return true;
  }

  // Condition 2: what `read` reads, its variable holds at `end` too.
  bool StaysUntil(const Argument& read, const Op& end) {
    const Value& value = *read.value();
    for (const Value* other : value.variable().values()) {
      if (other == &value || other->op() == nullptr) continue;
      const Op* const writer = InBlock(*other->op());
      if (writer == nullptr || writer->IsBefore(read.op()) || !writer->IsBefore(end)) continue;
      // The writes of matched ops go away, but for those of results, which come at the end.
      if (match_.Has(*writer) && &end == &last_ && ResultOf(*other) < 0) continue;
      return Fail(read.op(), absl::StrCat(read.slot_name(), " is \"", value.variable().name(),
                                          "\", which ", DescribeGiven(*writer),
                                          " writes again before ", DescribeGiven(end)));
    }
    return true;
  }

  bool CapturesAreNotWritten() {
    const Pattern& pattern = *match_.pattern;
    for (size_t i = 0; i < pattern.values.size(); ++i) {
      if (pattern.values[i].kind != Kind::kCapture) continue;
      const Value& value = *match_.values[i];
      if (IsMatched(value)) {
        return Fail(*value.op(),
                    absl::StrCat("it writes \"", value.variable().name(), "\", which is also \"",
                                 pattern.values[i].name, "\" of the pattern"));
      }
      if (pattern.after.size() > 1 && IsVariableOfResult(value.variable())) {
        return Fail(last_, absl::StrCat("\"", value.variable().name(),
                                        "\" is written over, which the ops of `after` read "
                                        "one after the other"));
      }
    }
    return true;
  }

  bool IsVariableOfResult(const Variable& variable) const {
    const std::vector<PatternValue>& values = match_.pattern->values;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].kind == Kind::kResult && &match_.values[i]->variable() == &variable) {
        return true;
      }
    }
    return false;
  }

  const Match& match_;
  const ReplacedGradients& gradients_;
  const absl::flat_hash_set<std::string>& named_;
  const Op& last_;
  absl::flat_hash_set<const Value*> constants_;  // from nothing, as fill_constant has them
  Obstacle* obstacle_ = nullptr;
};

}  // namespace

std::optional<Obstacle> FindObstacle(const Match& match, const ReplacedGradients& gradients,
                                     const absl::flat_hash_set<std::string>& named) {
  Obstacle obstacle;
  if (Conditions(match, gradients, named).Hold(&obstacle)) return std::nullopt;
  return obstacle;
}

}  // namespace fixpoint
