#include "transpiler/patterns/pattern_matcher.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/forward_ops.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/type_names.h"
#include "proto/text/program_text.h"
#include "proto/wire/deterministic_bytes.h"
#include "transpiler/patterns/condition_values.h"
#include "transpiler/patterns/sum_values.h"

namespace fixpoint {
namespace {

// How many ops are compared with those of the pattern for one root, apart from the readers of other
// types that each step passes over once. What failed is not tried again (Search::DeadEnd), so that
// more than this takes names that many ops share.
constexpr int kMostComparisons = 4096;

// Whether two attributes say the same: INT and LONG, and FLOAT and FLOAT64, are alike, as files of
// several eras have them.
bool SayTheSame(const OpDesc::Attr& a, const OpDesc::Attr& b) {
  if (a.type() == AttrType::BOOLEAN || b.type() == AttrType::BOOLEAN) {
    return BoolValue(a).has_value() && BoolValue(a) == BoolValue(b);
  }
  if (const auto integer = IntValue(a); integer && IntValue(b)) return integer == IntValue(b);
  if (const auto number = FloatValue(a); number && FloatValue(b)) {
    return AsFloat(*number) == AsFloat(*FloatValue(b));
  }
  if (const auto integers = IntsValue(a); integers && IntsValue(b)) return integers == IntsValue(b);
  if (const auto numbers = FloatsValue(a); numbers && FloatsValue(b)) {
    return numbers == FloatsValue(b);
  }
  if (const auto text = StringValue(a)) return text == StringValue(b);
  if (const auto texts = StringsValue(a)) return texts == StringsValue(b);
  return PrintAttrValue(a) == PrintAttrValue(b);
}

// The operands of an op whose result is the same for both orders; null where there are none.
struct Operands {
  const Argument* x = nullptr;
  const Argument* y = nullptr;
};

// Where one operand is broadcast to the other, their order says which.
bool HaveOneRank(const Argument& x, const Argument& y) {
  const auto rank = [](const Argument& operand) {
    const VarType::TensorDesc* const tensor =
        operand.variable() == nullptr ? nullptr : operand.variable()->tensor();
    return tensor == nullptr ? 0 : tensor->dims_size();
  };
  return rank(x) > 0 && rank(x) == rank(y);
}

Operands CommutingOperands(const Op& op) {
  const OpTraits& traits = TraitsOf(op);
  Operands operands;
  if (traits.is_on_integers) return operands;
  if (traits.sum) {
    operands = {op.Input(traits.sum->x), op.Input(traits.sum->y)};
  } else if (traits.multiplies_elements) {
    operands = {op.Input("X"), op.Input("Y")};
  }
  if (operands.x == nullptr || operands.y == nullptr || !HaveOneRank(*operands.x, *operands.y)) {
    return {};
  }
  return operands;
}

// What a variable lacks of what a pattern's var line says; "" if nothing.
std::string Unlike(const VarDesc& wanted, const Variable& variable) {
  const VarType::TensorDesc& tensor = wanted.type().lod_tensor().tensor();
  const VarType::TensorDesc* const declared = variable.tensor();
  if (!variable.is_dense_tensor() || declared == nullptr) return "is not declared as a tensor";
  if (declared->data_type() != tensor.data_type()) {
    return absl::StrCat("is of ", TypeName(declared->data_type()), ", and not of ",
                        TypeName(tensor.data_type()));
  }
  if (wanted.persistable() && !variable.persistable()) return "is not persistable";
  if (tensor.dims_size() == 0) return "";
  if (declared->dims_size() != tensor.dims_size()) {
    return absl::StrCat("has ", declared->dims_size(), " dimensions, and not ", tensor.dims_size());
  }
  for (int i = 0; i < tensor.dims_size(); ++i) {
    if (tensor.dims(i) != -1 && tensor.dims(i) != declared->dims(i)) {
      return absl::StrCat("has extent ", declared->dims(i), " on axis ", i, ", and not ",
                          tensor.dims(i));
    }
  }
  return "";
}

bool HasSlot(absl::Span<const PatternSlot> slots, absl::string_view name) {
  return std::any_of(slots.begin(), slots.end(),
                     [name](const PatternSlot& slot) { return slot.name == name; });
}

}  // namespace

const Op& Match::last_op() const {
  return **std::max_element(ops.begin(), ops.end(),
                            [](const Op* a, const Op* b) { return a->IsBefore(*b); });
}

bool Match::Has(const Op& op) const { return std::find(ops.begin(), ops.end(), &op) != ops.end(); }

std::string DescribeGiven(const Op& op) {
  if (!op.inserted() || op.outputs().empty()) return DescribeInFile(op);
  return absl::StrCat("block ", op.block().index(), ", new op \"",
                      std::string(op.outputs()[0]->name()), "\" (", op.type(), ")");
}

// The search from one root.
class PatternMatcher::Search {
 public:
  Search(const Pattern& pattern, Era era) : pattern_(pattern), era_(era) {}

  // Notes the longest match that failed.
  void Note(PartialMatch* partial) { partial_ = partial; }
  // Takes a root whose slots, attributes, types or conditions are not those of the pattern, and
  // notes the first difference. If that is a condition, others may fail too.
  void Forgive(std::optional<PartialMatch>* of_root) { of_root_ = of_root; }

  std::optional<Match> From(const Op& root) {
    block_ = &root.block();
    match_.pattern = &pattern_;
    match_.ops.resize(pattern_.before.size());
    match_.values.resize(pattern_.values.size());
    match_.attributes.resize(pattern_.variables.size());
    if (Try(root, 0)) return std::move(match_);
    if (partial_ != nullptr && comparisons_ > kMostComparisons) {
      partial_->obstacle = {
          &root, absl::StrCat("more than ", kMostComparisons,
                              " ops would have to be compared with those of the pattern")};
    }
    return std::nullopt;
  }

 private:
  // Whether the op is that of a step, and those of later steps are found too; the match is then
  // complete, and else as it was.
  bool Try(const Op& op, size_t step) {
    const int index = pattern_.steps[step].op;
    if (op.type() != pattern_.before[index].type) {
      return Fail(op, [&] {
        return absl::StrCat("the pattern has ", pattern_.before[index].type, " here");
      });
    }
    const Operands operands = CommutingOperands(op);
    for (const bool swapped : {false, true}) {
      if (swapped && operands.x == nullptr) break;
      const Bound before{bound_values_.size(), bound_attributes_.size()};
      const bool has_other_order = operands.x != nullptr && !swapped;
      if (Bind(op, index, swapped ? operands : Operands())) {
        match_.ops[index] = &op;
        if (ConditionsHold(step)) {
          if (has_other_order) ++orders_left_;
          const bool is_found = step + 1 == pattern_.steps.size() || FindOnce(step + 1);
          if (has_other_order) --orders_left_;
          if (is_found) return true;
        }
        match_.ops[index] = nullptr;
      }
      Unbind(before);
    }
    return false;
  }

  // How much of the match is bound.
  struct Bound {
    size_t values;
    size_t attributes;
  };
  void Unbind(const Bound& down_to) {
    for (; bound_values_.size() > down_to.values; bound_values_.pop_back()) {
      match_.values[bound_values_.back()] = nullptr;
    }
    for (; bound_attributes_.size() > down_to.attributes; bound_attributes_.pop_back()) {
      match_.attributes[bound_attributes_.back()].Clear();
    }
  }

  bool ConditionsHold(size_t step) {
    const Op& root = *match_.ops[pattern_.steps.front().op];
    for (const int i : pattern_.steps[step].conditions) {
      const PatternCondition& condition = pattern_.conditions[i];
      if (Holds(condition, match_)) continue;
      const auto reason = [&] { return WhyNot(condition, match_); };
      const bool is_told = of_root_ != nullptr && *of_root_ && (*of_root_)->ops == all_ops();
      if (step > 0 && !is_told) return Fail(root, reason);
      if (!ForgivesRoot(all_ops(), root, reason)) return false;
    }
    return true;
  }

  // A step that is not found, with what it depends on (MatchStep::kept_values and
  // kept_attributes of the step before it).
  struct DeadEnd {
    size_t step;
    std::vector<const Value*> values;
    std::vector<std::string> attributes;

    friend bool operator==(const DeadEnd& a, const DeadEnd& b) {
      return a.step == b.step && a.values == b.values && a.attributes == b.attributes;
    }
    template <typename H>
    friend H AbslHashValue(H h, const DeadEnd& end) {
      return H::combine(std::move(h), end.step, end.values, end.attributes);
    }
  };
  DeadEnd EndAt(size_t step) const {
    DeadEnd end{step, {}, {}};
    for (const int value : pattern_.steps[step - 1].kept_values) {
      end.values.push_back(match_.values[value]);
    }
    for (const int variable : pattern_.steps[step - 1].kept_attributes) {
      end.attributes.push_back(DeterministicBytes(match_.attributes[variable]));
    }
    return end;
  }

  // Find, where it has not failed before. An op that is there already may be the only thing that
  // hinders, and another order may be without it.
  bool FindOnce(size_t step) {
    if (!dead_ends_.empty() && dead_ends_.contains(EndAt(step))) return false;
    const int ops_there_already = ops_there_already_;
    if (Find(step)) return true;
    if (orders_left_ > 0 && ops_there_already == ops_there_already_) {
      dead_ends_.insert(EndAt(step));
    }
    return false;
  }

  bool Find(size_t step) {
    const MatchStep& next = pattern_.steps[step];
    const Value& value = *match_.values[next.value];
    if (next.writes) {
      if (value.written_by() != nullptr) return Try(*value.op(), step);
      const Argument* const reader =
          *std::find_if(value.readers().begin(), value.readers().end(),
                        [this](const Argument* argument) { return match_.Has(argument->op()); });
      return Fail(reader->op(), [&] {
        return absl::StrCat("\"", value.variable().name(), "\" is written by no op; want ",
                            pattern_.before[next.op].type);
      });
    }
    const bool passes_again = !passed_.insert(step).second;
    for (const Argument* reader : value.readers()) {
      if (passes_again && reader->op().type() != pattern_.before[next.op].type) ++comparisons_;
      const bool has_other_reader = reader != value.readers().back();
      if (has_other_reader) ++orders_left_;
      const bool is_found = Try(reader->op(), step);
      if (has_other_reader) --orders_left_;
      if (is_found) return true;
    }
    return Fail(*value.op(), [&] {
      return absl::StrCat("\"", value.variable().name(), "\" is read by no ",
                          pattern_.before[next.op].type, " as it is looked for");
    });
  }

  // Notes why the match goes no further. `reason` is asked only if somebody wants to know.
  template <typename Reason>
  bool Fail(const Op& op, Reason reason) {
    if (partial_ == nullptr) return false;
    const int found = static_cast<int>(
        std::count_if(match_.ops.begin(), match_.ops.end(), [](const Op* op) { return op; }));
    if (found > partial_->ops) *partial_ = {found, {&op, reason()}};
    return false;
  }

  // Fail, for a slot, an attribute or a type of an op; true if that is forgiven.
  template <typename Reason>
  bool FailForm(const Op& op, int index, Reason reason) {
    if (index != pattern_.steps.front().op) return Fail(op, reason);
    return ForgivesRoot(all_ops() - 1, op, reason);
  }

  // Whether the root may be as it is; `ops` are found if all others are.
  template <typename Reason>
  bool ForgivesRoot(int ops, const Op& root, Reason reason) {
    if (of_root_ == nullptr) return false;
    if (!*of_root_) *of_root_ = PartialMatch{ops, {&root, reason()}};
    return true;
  }
  int all_ops() const { return static_cast<int>(pattern_.before.size()); }

  bool Bind(const Op& op, int index, const Operands& swapped) {
    const PatternOp& wanted = pattern_.before[index];
    const auto fail = [&](auto... why) { return Fail(op, [&] { return absl::StrCat(why...); }); };
    if (++comparisons_ > kMostComparisons) return false;
    if (&op.block() != block_ || !op.sub_blocks().empty() || !IsForward(op)) {
      return fail("it is in another block, runs a block, or is not of the forward part");
    }
    if (match_.Has(op)) {
      ++ops_there_already_;
      return fail("the pattern has two ops of that type here");
    }
    for (const Argument* input : op.inputs()) {
      if (input->value() != nullptr && !HasSlot(wanted.inputs, input->slot_name()) &&
          !FailForm(op, index, [input] {
            return absl::StrCat("it reads ", std::string(input->slot_name()),
                                ", which the pattern's op does not");
          })) {
        return false;
      }
    }
    for (const PatternAttribute& attribute : wanted.attributes) {
      if (!BindAttribute(op, attribute, index)) return false;
    }
    for (const bool is_output : {false, true}) {
      for (const PatternSlot& slot : is_output ? wanted.outputs : wanted.inputs) {
        const auto arguments = is_output ? op.Outputs(slot.name) : op.Inputs(slot.name);
        if (arguments.size() != slot.values.size()) {
          return fail(slot.name, " has ", arguments.size(), " arguments, and not ",
                      slot.values.size());
        }
        for (size_t i = 0; i < arguments.size(); ++i) {
          const Argument* argument = arguments[i];
          if (argument == swapped.x) {
            argument = swapped.y;
          } else if (argument == swapped.y) {
            argument = swapped.x;
          }
          if (!BindValue(*argument, slot, slot.values[i], index)) return false;
        }
      }
    }
    // Last, because it goes through all attributes.
    if (const std::optional<std::string> fused = FindFusedAttribute(op.desc())) {
      return fail("its ", *fused, " says that it does other ops' work too");
    }
    return true;
  }

  bool BindAttribute(const Op& op, const PatternAttribute& wanted, int index) {
    const OpDesc::Attr* const has = AttrOrDefault(op.desc(), wanted.name, era_);
    const OpDesc::Attr* want = &wanted.value;
    if (wanted.variable >= 0) {
      OpDesc::Attr& bound = match_.attributes[wanted.variable];
      if (has != nullptr && !bound.has_type()) {
        bound = *has;
        bound_attributes_.push_back(wanted.variable);
        return true;
      }
      want = &bound;
    }
    if (has != nullptr && SayTheSame(*want, *has)) return true;
    return FailForm(op, index, [&] {
      return absl::StrCat(wanted.name, " is ", has == nullptr ? "not given" : PrintAttrValue(*has),
                          ", and not ", want->has_type() ? PrintAttrValue(*want) : "given");
    });
  }

  bool BindValue(const Argument& argument, const PatternSlot& slot, int named, int index) {
    const Value*& bound = match_.values[named];
    const Value* const value = argument.value();
    if (value != nullptr && bound == value) return true;
    const PatternValue& wanted = pattern_.values[named];
    if (value == nullptr || bound != nullptr) {
      return Fail(argument.op(), [&] {
        const std::string read =
            absl::StrCat(slot.name, " is \"", std::string(argument.name()), "\"");
        if (bound == nullptr) return absl::StrCat(read, ", which is no value");
        return absl::StrCat(read, ", where the pattern's \"", wanted.name, "\" is ",
                            bound->variable().name() == argument.name() ? "another value of " : "",
                            "\"", bound->variable().name(), "\"");
      });
    }
    if (wanted.declared) {
      const std::string unlike = Unlike(*wanted.declared, value->variable());
      const auto reason = [&] {
        return absl::StrCat(slot.name, " is \"", std::string(argument.name()), "\", which ",
                            unlike);
      };
      if (!unlike.empty() && !FailForm(argument.op(), index, reason)) return false;
    }
    bound = value;
    bound_values_.push_back(named);
    return true;
  }

  const Pattern& pattern_;
  const Era era_;
  PartialMatch* partial_ = nullptr;
  std::optional<PartialMatch>* of_root_ = nullptr;
  const Block* block_ = nullptr;
  Match match_;
  std::vector<int> bound_values_;      // positions in match_.values, in the order of binding
  std::vector<int> bound_attributes_;  // positions in match_.attributes
  int comparisons_ = 0;
  absl::flat_hash_set<size_t> passed_;  // steps at which readers were passed over
  int orders_left_ = 0;                 // of what is being tried: other orders, and other readers
  int ops_there_already_ = 0;           // how often an op was found a second time
  absl::flat_hash_set<DeadEnd> dead_ends_;
};

std::optional<Match> PatternMatcher::MatchAt(const Op& root) const {
  if (root.type() != pattern_.root().type) return std::nullopt;
  return Search(pattern_, era_).From(root);
}

std::optional<PartialMatch> PatternMatcher::WhyNotAt(const Op& root) const {
  if (root.type() != pattern_.root().type) return std::nullopt;
  const int ops = static_cast<int>(pattern_.before.size());
  PartialMatch partial;
  Search search(pattern_, era_);
  search.Note(&partial);
  search.From(root);
  if (partial.ops > 1 || (partial.ops == 1 && ops <= 2)) return partial;
  if (partial.ops == 1) return std::nullopt;
  std::optional<PartialMatch> of_root;
  Search forgiving(pattern_, era_);
  forgiving.Forgive(&of_root);
  if (!forgiving.From(root)) return std::nullopt;
  return of_root;
}

}  // namespace fixpoint
