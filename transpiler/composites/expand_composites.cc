// expand_composites: composite ops become their components, each of which can be observed and
// quantized on its own.
//
//   layer_norm(Bias=b, Scale=g, X=x) -> (Mean=m, Variance=v, Y=y)
//
//   reduce_mean(X=x) -> (Out=y.mean)
//   elementwise_sub(X=x, Y=y.mean) -> (Out=y.centred)
//   square(X=y.centred) -> (Out=y.squared)
//   ...
//   elementwise_add(X=y.scaled, Y=b) -> (Out=y)
//
// The program's map of composites (transpiler/composites/composite_map.proto) says what each
// component is and what stood there, for raise_composites.

#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/era.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/state_codes.h"
#include "ops/verifier.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/composites/components.h"
#include "transpiler/composites/composite_entry.h"
#include "transpiler/composites/composite_map.h"
#include "transpiler/composites/loop_expansion.h"
#include "transpiler/patterns/pattern_file.h"
#include "transpiler/patterns/pattern_matcher.h"
#include "transpiler/patterns/pattern_pass.h"
#include "transpiler/patterns/pattern_reader.h"
#include "transpiler/patterns/pattern_rewriter.h"
#include "transpiler/pipeline/pass.h"

namespace fixpoint {
namespace {

constexpr char kRoundsState[] = "it rounds its state to codes, which its components do not";

bool RoundsState(const Op& op) { return IntAttr(op.desc(), kStateBitsAttr).value_or(0) != 0; }

constexpr char kName[] = "expand_composites";

// The patterns for a program: the built-in ones, and those that are written for its ops.
class PatternList {
 public:
  explicit PatternList(Era era) : era_(era) {}

  absl::Status AddBuiltIn() {
    for (const std::string& file : ComponentPatterns()) {
      ASSIGN_OR_RETURN(std::vector<Pattern> loaded, LoadPatterns(file));
      for (Pattern& pattern : loaded) patterns_.push_back(std::move(pattern));
    }
    return absl::OkStatus();
  }

  // Adds that of an op; nothing, or why it has none.
  std::string AddFor(const Op& op) {
    const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era_);
    if (!attributes) return "its attributes cannot be read";
    for (const OpDesc::Attr& attr : op.desc().attrs()) {
      // A pattern that names it would not match.
      const std::optional<double> number = FloatValue(attr);
      if (number && std::isnan(*number)) return absl::StrCat("its ", attr.name(), " is NaN");
    }
    if (RoundsState(op)) return kRoundsState;
    ComponentsOrReason outcome = ComponentsOf(op, *attributes);
    if (auto* const none = std::get_if<NoComponents>(&outcome)) return std::move(none->reason);
    if (auto* const loop = std::get_if<LoopComponents>(&outcome)) {
      loops_.emplace_back(&op, std::move(*loop));
      return "";
    }
    const auto& components = std::get<Components>(outcome);
    const std::string text = absl::StrCat("pattern ", ComponentPatternName(op), " \"A ", op.type(),
                                          " is its components.\"\nbefore:\n", components.before,
                                          "after:\n", components.after);
    if (!texts_.insert(text).second) return "";
    absl::StatusOr<std::vector<Pattern>> parsed = ParsePatterns(text, op.type());
    if (!parsed.ok()) return std::string(parsed.status().message());
    for (Pattern& pattern : *parsed) patterns_.push_back(std::move(pattern));
    return "";
  }

  // The ops whose components stand in a loop.
  const std::vector<std::pair<const Op*, LoopComponents>>& loops() const { return loops_; }

  std::vector<const Pattern*> all() const {
    std::vector<const Pattern*> all;
    for (const Pattern& pattern : patterns_) all.push_back(&pattern);
    return all;
  }

 private:
  const Era era_;
  std::deque<Pattern> patterns_;
  std::vector<std::pair<const Op*, LoopComponents>> loops_;
  absl::flat_hash_set<std::string> texts_;
};

// What a name of the replacement is in the composite: a result is called as its slot is.
std::string KindOf(const WrittenMatch& written, const std::string& variable) {
  const std::vector<std::string>& names = written.replacement.names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != variable) continue;
    const PatternValue& value = written.match.pattern->values[i];
    if (value.kind == PatternValue::Kind::kMade) return value.name;
    return SlotThatWrites(written.match.ops[0]->desc(), variable);
  }
  return "";
}

void AddEntry(const WrittenMatch& written, CompositeMap* map) {
  const Op& op = *written.match.ops[0];
  CompositeMap::Composite& entry = *map->add_composites();
  BeginEntry(op, &entry);
  const auto kind_of = [&written](const std::string& variable) {
    return KindOf(written, variable);
  };
  for (const OpDesc& component : written.replacement.ops) {
    AddComponents(component, op.block().index(), kind_of, &entry);
  }
  for (const Op* gradient : written.gradients.ops) {
    entry.set_gradient_op(gradient->desc().SerializeAsString());
  }
  for (const OpDesc& gradient : written.derived.ops) {
    entry.add_gradient_ops(gradient.SerializeAsString());
  }
  AddDeclarations(op, &entry);
}

// The gradient op is not given back to the byte where other ops changed with it.
std::optional<Obstacle> WhyNotRaised(const WrittenMatch& written) {
  if (written.derived.dropped_addends.empty() && written.derived.dropped_sums.empty() &&
      written.gradients.ops.size() <= 1) {
    return std::nullopt;
  }
  return Obstacle{written.match.ops[0],
                  "it reads a variable twice, whose gradient is a sum of two parts"};
}

// The components in a map, by their blocks and variables.
class ComponentKinds {
 public:
  explicit ComponentKinds(const CompositeMap& map) {
    for (const CompositeMap::Composite& entry : map.composites()) Add(entry);
  }

  void Add(const CompositeMap::Composite& entry) {
    for (const CompositeMap::Component& component : entry.components()) {
      kinds_[{entry.block(), component.variable()}] = component.kind();
    }
  }

  // A component stays what it is, though it be a composite itself: the softmax of an attention.
  std::optional<Obstacle> WhyKept(const Op& op) const {
    for (const Argument* output : op.outputs()) {
      const auto found = kinds_.find({op.block().index(), std::string(output->name())});
      if (found == kinds_.end()) continue;
      return Obstacle{&op, absl::StrCat("it is the component ", found->second,
                                        " of a composite that is expanded")};
    }
    return std::nullopt;
  }

 private:
  absl::flat_hash_map<std::pair<int, std::string>, std::string> kinds_;
};

// What is wrong with the ops of a program: they could not be given back, because what a pass
// inserts has to verify.
class Errors {
 public:
  explicit Errors(const Program& program) {
    for (const Finding& finding : Verify(program)) {
      if (finding.severity == Severity::kError && finding.op != nullptr) {
        errors_.emplace(finding.op, finding.message);
      }
    }
  }

  std::optional<Obstacle> WhyKept(const WrittenMatch& written) const {
    std::vector<const Op*> ops = written.match.ops;
    ops.insert(ops.end(), written.gradients.ops.begin(), written.gradients.ops.end());
    for (const Op* op : ops) {
      if (std::string error = WhyKept(*op); !error.empty()) return Obstacle{op, std::move(error)};
    }
    return std::nullopt;
  }

  // "" if there is none.
  std::string WhyKept(const Op& op) const {
    const auto found = errors_.find(&op);
    return found == errors_.end() ? "" : found->second;
  }

 private:
  absl::flat_hash_map<const Op*, std::string> errors_;  // the first one of each
};

class ExpandComposites final : public Pass {
 public:
  absl::string_view name() const override { return kName; }
  absl::string_view doc() const override {
    return "Replaces composite ops (fc, layer_norm, softmax, rnn, ...) by their components.";
  }
  // A plan names ops, which are replaced.
  std::vector<std::string> ComesBefore() const override { return {"planned"}; }
  bool IsHeldToPlan() const override { return false; }

  absl::Status Run(Program& program, PassContext& context) const override {
    PatternList patterns(EraOf(program));
    RETURN_IF_ERROR(patterns.AddBuiltIn());
    for (const Op& op : program.ops()) {
      if (IsComposite(op.type())) patterns.AddFor(op);
    }
    ASSIGN_OR_RETURN(CompositeMap map, ReadCompositeMap(program));
    const int known = map.composites_size();
    ApplyOptions options;
    auto* const rewrite = dynamic_cast<RewriteContext*>(&context);
    options.explain = rewrite != nullptr && rewrite->explain;
    options.keep_variables = true;
    options.author = kName;
    options.most_growth = kMostOpsAfter;  // components are not expanded
    ComponentKinds kinds(map);
    const Errors errors(program);
    options.before_writing = [&map, &kinds, &errors](const WrittenMatch& written) {
      std::optional<Obstacle> obstacle = kinds.WhyKept(*written.match.ops[0]);
      if (!obstacle && RoundsState(*written.match.ops[0])) {
        obstacle = Obstacle{written.match.ops[0], kRoundsState};
      }
      if (!obstacle) obstacle = WhyNotRaised(written);
      if (!obstacle) obstacle = errors.WhyKept(written);
      if (obstacle) return obstacle;
      AddEntry(written, &map);
      kinds.Add(*map.composites().rbegin());
      return obstacle;
    };
    ASSIGN_OR_RETURN(RewriteReport report, ApplyPatterns(patterns.all(), options, &program));
    ExpandLoops(patterns, errors, &program, &map, &report);
    if (map.composites_size() > known) {
      Rewriter(&program, kName).SetComposites(map.SerializeAsString());
    }
    if (rewrite == nullptr) {
      context.notes.push_back(
          absl::StrCat(kName, ": expanded ", report.replaced.size(), " composites"));
      return absl::OkStatus();
    }
    for (ReplacedMatch& replaced : report.replaced) {
      rewrite->report.replaced.push_back(std::move(replaced));
    }
    if (!options.explain) return absl::OkStatus();
    // Where an op is of no pattern's form, PatternList says why, for all of them. Two patterns of
    // one op may be kept from it by the same obstacle.
    absl::flat_hash_set<std::string> told;
    absl::flat_hash_set<std::pair<std::string, std::string>> reasons;
    for (NearMatch& near : report.near_matches) {
      if (near.ops_found < near.ops || !reasons.insert({near.op, near.reason}).second) continue;
      told.insert(near.op);
      rewrite->report.near_matches.push_back(std::move(near));
    }
    for (const Op& op : program.ops()) {
      std::string place = DescribeGiven(op);
      if (!IsComposite(op.type()) || told.contains(place)) continue;
      std::string reason = patterns.AddFor(op);
      if (reason.empty()) continue;
      rewrite->report.near_matches.push_back({kName, std::move(place), std::move(reason), 1, 1});
    }
    return absl::OkStatus();
  }

 private:
  // Expands ops whose components stand in a loop.
  static void ExpandLoops(const PatternList& patterns, const Errors& errors, Program* program,
                          CompositeMap* map, RewriteReport* report) {
    absl::flat_hash_set<std::string> types;
    for (const auto& [op, components] : patterns.loops()) types.insert(op->type());
    if (types.empty()) return;
    LoopExpansion expansion(program, kName, types);
    for (const auto& [op, components] : patterns.loops()) {
      std::string reason = errors.WhyKept(*op);
      if (reason.empty()) reason = expansion.WhyKept(*op, components);
      if (reason.empty()) {
        CompositeMap::Composite entry;
        absl::StatusOr<ReplacedMatch> replaced = expansion.Replace(*op, components, &entry);
        if (replaced.ok()) {
          report->replaced.push_back(*std::move(replaced));
          *map->add_composites() = std::move(entry);
          continue;
        }
        reason = std::string(replaced.status().message());
      }
      report->near_matches.push_back({kName, DescribeGiven(*op), std::move(reason), 1, 1});
    }
  }
};

}  // namespace

std::unique_ptr<Pass> MakeExpandComposites() { return std::make_unique<ExpandComposites>(); }

}  // namespace fixpoint
