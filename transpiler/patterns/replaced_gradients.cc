#include "transpiler/patterns/replaced_gradients.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/gradient_slots.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

bool IsWrittenOnce(const Value& value) {
  return value.written_by() != nullptr && value.variable().values().size() == 1;
}

class Finder {
 public:
  Finder(const Program& program, const Match& match, const GradientLinks& links, Era era)
      : program_(program), match_(match), links_(links), era_(era) {}

  std::variant<ReplacedGradients, Obstacle> Find() {
    const bool found = TakeGradientOps() && (pairs_.empty() || TakeGradients());
    if (found) return std::move(replaced_);
    return std::move(obstacle_);
  }

 private:
  // A gradient op with its forward op and the line of the schema that says what its slots are.
  struct Pair {
    const Op* gradient;
    const Op* forward;
    const GradientSchema* schema;
  };

  bool Fail(const Op& op, std::string reason) {
    obstacle_ = {&op, std::move(reason)};
    return false;
  }

  bool TakeGradientOps() {
    for (const Op* op : match_.ops) {
      if (const Op* uncertain = links_.UncertainGradientOf(*op)) {
        return Fail(*op, absl::StrCat(DescribeInFile(*uncertain),
                                      " may belong to its gradient, or to that of another op"));
      }
      for (const Op* gradient : GradientsOf(*op)) {
        const GradientSchema* const schema =
            FindGradientSchema(*FindOpSchema(op->type()), gradient->type(), era_);
        if (schema == nullptr || &gradient->block() != &op->block()) {
          return Fail(*op, absl::StrCat(DescribeInFile(*gradient),
                                        ", which belongs to its gradient, cannot be replaced"));
        }
        pairs_.push_back({gradient, op, schema});
        replaced_.ops.insert(gradient);
      }
    }
    return true;
  }

  std::vector<const Op*> GradientsOf(const Op& op) const {
    const absl::Span<const Op* const> linked = links_.GradientsOf(op);
    std::vector<const Op*> gradients(linked.begin(), linked.end());
    if (gradients.empty()) gradients = UnlinkedGradientsOf(op);
    return gradients;
  }

  // Gradient ops that repeat nothing of the forward op: that of a scale is a scale. They are known
  // by the gradients that they read and write, which have the names of a result and of an input.
  std::vector<const Op*> UnlinkedGradientsOf(const Op& op) const {
    std::vector<const Op*> gradients;
    const OpSchema& schema = *FindOpSchema(op.type());
    for (const GradientSchema& form : schema.gradients()) {
      for (const GradientSchema::Slot& slot : form.inputs) {
        if (!slot.is_gradient) continue;
        for (const Argument* result : op.Outputs(slot.source)) {
          if (result->value() == nullptr || !IsWrittenOnce(*result->value())) continue;
          const Variable* const gradient =
              program_.Find(op.block(), absl::StrCat(result->name(), kGradientSuffix));
          if (gradient == nullptr) continue;
          for (const Argument* argument : gradient->arguments()) {
            const Op& reader = argument->op();
            if (!argument->is_output() && argument->slot_name() == slot.name &&
                reader.type() == form.type && (reader.role() & kBackward) != 0 &&
                WritesGradientsOf(op, form, reader)) {
              gradients.push_back(&reader);
            }
          }
        }
      }
    }
    return gradients;
  }

  static bool WritesGradientsOf(const Op& op, const GradientSchema& form, const Op& gradient) {
    for (const GradientSchema::Slot& slot : form.outputs) {
      const auto written = gradient.Outputs(slot.name);
      const auto inputs = op.Inputs(slot.source);
      if (written.size() != inputs.size()) return false;
      for (size_t i = 0; i < written.size(); ++i) {
        if (WithoutGradientSuffix(written[i]->name()) != inputs[i]->name()) return false;
      }
    }
    return !form.outputs.empty();
  }

  bool TakeGradients() {
    for (const Pair& pair : pairs_) {
      if (!TakeOutputs(pair)) return false;
    }
    if (!TakeSums()) return false;
    for (const Pair& pair : pairs_) {
      if (!TakeInputs(pair)) return false;
    }
    replaced_.first = *std::min_element(replaced_.ops.begin(), replaced_.ops.end(),
                                        [](const Op* a, const Op* b) { return a->IsBefore(*b); });
    return NoneIsLeftOut() && ResultsAreThere() && ContributionsAreAdded();
  }

  bool IsMatched(const Value& value) const {
    return value.written_by() != nullptr && match_.Has(*value.op());
  }
  int IndexOf(const Value* value) const {
    const auto found = std::find(match_.values.begin(), match_.values.end(), value);
    return found == match_.values.end() ? -1 : static_cast<int>(found - match_.values.begin());
  }

  // Calls `visit` for each gradient among the arguments of the gradient op, with the argument of
  // the forward op that it is the gradient of, until that returns false.
  template <typename Visit>
  static bool ForEachGradient(const Pair& pair, bool is_output, Visit visit) {
    for (const GradientSchema::Slot& slot :
         is_output ? pair.schema->outputs : pair.schema->inputs) {
      if (!slot.is_gradient) continue;
      const auto gradients =
          is_output ? pair.gradient->Outputs(slot.name) : pair.gradient->Inputs(slot.name);
      const auto sources = slot.source_is_output ? pair.forward->Outputs(slot.source)
                                                 : pair.forward->Inputs(slot.source);
      for (size_t i = 0; i < gradients.size(); ++i) {
        if (gradients[i]->value() == nullptr) continue;
        if (!visit(*gradients[i]->value(), i < sources.size() ? sources[i] : nullptr)) return false;
      }
    }
    return true;
  }

  bool TakeOutputs(const Pair& pair) {
    return ForEachGradient(pair, /*is_output=*/true, [&](const Value& made, const Argument* of) {
      if (of == nullptr || of->value() == nullptr) {
        return Fail(*pair.forward, absl::StrCat(DescribeInFile(*pair.gradient),
                                                " writes a gradient of nothing that it reads"));
      }
      if (IsMatched(*of->value())) {
        AddInner(made);
      } else {
        replaced_.of_captures[IndexOf(of->value())].push_back(&made);
      }
      return true;
    });
  }

  void AddInner(const Value& gradient) {
    if (inner_.insert(&gradient).second) inner_in_order_.push_back(&gradient);
  }

  // What is read several times has a gradient that is a sum.
  bool TakeSums() {
    for (size_t i = 0; i < inner_in_order_.size(); ++i) {
      const Value& value = *inner_in_order_[i];
      for (const Argument* reader : value.readers()) {
        const Op& op = reader->op();
        if (replaced_.ops.contains(&op)) continue;
        const bool is_sum_of_inner =
            op.type() == "sum" && op.outputs().size() == 1 &&
            std::all_of(op.inputs().begin(), op.inputs().end(),
                        [this](const Argument* input) { return inner_.contains(input->value()); });
        if (!is_sum_of_inner) {
          return Fail(match_.last_op(), absl::StrCat("\"", value.variable().name(),
                                                     "\", a gradient inside the match, is read by ",
                                                     DescribeInFile(op)));
        }
        replaced_.ops.insert(&op);
        if (const Value* const sum = op.outputs()[0]->value()) AddInner(*sum);
      }
    }
    return true;
  }

  bool TakeInputs(const Pair& pair) {
    return ForEachGradient(pair, /*is_output=*/false, [&](const Value& read, const Argument* of) {
      if (inner_.contains(&read)) return true;
      const int index = of == nullptr || of->value() == nullptr ? -1 : IndexOf(of->value());
      if (index < 0 || match_.pattern->values[index].kind != PatternValue::Kind::kResult) {
        return Fail(*pair.forward, absl::StrCat(DescribeInFile(*pair.gradient), " reads \"",
                                                read.variable().name(),
                                                "\", a gradient from outside of what is inside"));
      }
      const auto [known, is_new] = replaced_.of_results.try_emplace(index, &read);
      return is_new || known->second == &read ||
             Fail(*pair.forward, absl::StrCat("its gradient ops read two gradients of \"",
                                              of->variable()->name(), "\""));
    });
  }

  // Gradients that are derived anew pass every op between a result and a capture that has one.
  bool NoneIsLeftOut() {
    absl::flat_hash_set<const Value*> passed;
    for (const auto& [capture, contributions] : replaced_.of_captures) {
      passed.insert(match_.values[capture]);
    }
    std::vector<const Op*> in_order = match_.ops;
    std::sort(in_order.begin(), in_order.end(),
              [](const Op* a, const Op* b) { return a->IsBefore(*b); });
    for (const Op* op : in_order) {
      const auto& inputs = op->inputs();
      if (std::none_of(inputs.begin(), inputs.end(), [&passed](const Argument* input) {
            return passed.contains(input->value());
          })) {
        continue;
      }
      if (GradientsOf(*op).empty()) {
        const OpSchema& schema = *FindOpSchema(op->type());
        if (schema.gradient_known() && schema.MakeGradient(op->desc(), era_).empty()) continue;
        return Fail(*op, "it has no gradient op, and others of the match have");
      }
      for (const Argument* output : op->outputs()) passed.insert(output->value());
    }
    return true;
  }

  bool ResultsAreThere() {
    for (const auto& [result, gradient] : replaced_.of_results) {
      const bool is_there = IsWrittenOnce(*gradient) &&
                            &gradient->op()->block() == &replaced_.first->block() &&
                            gradient->op()->IsBefore(*replaced_.first);
      if (!is_there) {
        return Fail(match_.last_op(),
                    absl::StrCat("\"", gradient->variable().name(),
                                 "\", the gradient of a result, is written twice, or after ",
                                 DescribeInFile(*replaced_.first)));
      }
    }
    return true;
  }

  bool ContributionsAreAdded() {
    for (auto& [capture, contributions] : replaced_.of_captures) {
      std::sort(contributions.begin(), contributions.end(), [](const Value* a, const Value* b) {
        return a->op() != b->op() ? a->op()->IsBefore(*b->op())
                                  : a->variable().name() < b->variable().name();
      });
      const Op* sum = nullptr;
      for (const Value* contribution : contributions) {
        const auto readers = contribution->readers();
        const bool is_added = readers.size() == 1 && readers[0]->op().type() == "sum" &&
                              (sum == nullptr || sum == &readers[0]->op());
        if (!IsWrittenOnce(*contribution) || (contributions.size() > 1 && !is_added)) {
          return Fail(match_.last_op(),
                      absl::StrCat("\"", contribution->variable().name(),
                                   "\" is written twice, or is not added by the one sum that adds "
                                   "the gradients of \"",
                                   match_.values[capture]->variable().name(), "\""));
        }
        if (contributions.size() > 1) sum = &readers[0]->op();
      }
    }
    return true;
  }

  const Program& program_;
  const Match& match_;
  const GradientLinks& links_;
  const Era era_;
  std::vector<Pair> pairs_;
  // Gradients between the gradient ops.
  absl::flat_hash_set<const Value*> inner_;
  std::vector<const Value*> inner_in_order_;
  ReplacedGradients replaced_;
  Obstacle obstacle_;
};

}  // namespace

std::variant<ReplacedGradients, Obstacle> FindReplacedGradients(const Program& program,
                                                                const Match& match,
                                                                const GradientLinks& links,
                                                                Era era) {
  return Finder(program, match, links, era).Find();
}

}  // namespace fixpoint
