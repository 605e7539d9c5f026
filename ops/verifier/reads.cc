// Names and the values that they refer to.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/op_schema.h"
#include "ops/verifier/checks.h"
#include "proto/base/nearest_name.h"
#include "proto/program/attributes.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

// A suggestion considers names that the op sees, the nearest block's first: enough of them to help,
// and few enough that a program of nothing but mistakes is still verified in time.
constexpr int kMostSuggestions = 10;
constexpr size_t kMostCandidates = 2000;
constexpr size_t kLongestSuggestion = 64;

// For all walks through what quantizers make of variables: more than a quantized program needs, and
// few enough that one of nothing but quantizers is still verified in time.
constexpr int64_t kMostQuantizedArguments = int64_t{1} << 20;

// Kinds of variable that exist without being written.
bool ExistsByItself(const Variable& variable) {
  switch (variable.desc()->type().type()) {
    case VarType::FEED_MINIBATCH:
    case VarType::FETCH_LIST:
    case VarType::READER:
    case VarType::RAW:
      return true;
    default:
      return variable.persistable();
  }
}

// The first op that writes a variable, or runs a block that does; null if none does.
const Op* FirstWriter(const Variable& variable) {
  for (const Value* value : variable.values()) {
    if (value->op() != nullptr) return value->op();
  }
  return nullptr;
}

// At most kMostCandidates names for a suggestion, from the block outwards.
std::vector<std::string> NamesSeenFrom(const Block& from) {
  std::vector<std::string> names;
  for (const Block* block = &from; block != nullptr; block = block->parent()) {
    for (const Variable* variable : block->variables()) {
      if (names.size() >= kMostCandidates) return names;
      if (variable->name().size() <= kLongestSuggestion) names.push_back(variable->name());
    }
  }
  return names;
}

}  // namespace

NameCheck::NameCheck(const Program& program, FindingList* findings)
    : program_(program), findings_(findings), suggestions_left_(kMostSuggestions) {}

void NameCheck::Check(const Op& op) {
  const auto dangling = [&](const std::string& who, absl::string_view name) {
    const int block = op.block().index();
    const std::string where = block == 0 ? "which block 0 does not declare"
                                         : absl::StrCat("which neither block ", block,
                                                        " nor one that it stands in declares");
    findings_->Error(FindingCode::kDanglingName, op,
                     absl::StrCat(who, " \"", name, "\", ", where, Suggestion(op, name)));
  };
  const auto check = [&](const Argument& argument) {
    if (argument.variable() == nullptr || argument.variable()->desc() != nullptr) return;
    dangling(absl::StrCat(argument.is_output() ? "output " : "input ", argument.slot_name(),
                          argument.is_output() ? " writes" : " reads"),
             argument.name());
  };
  for (const Argument* input : op.inputs()) check(*input);
  for (const Argument* output : op.outputs()) check(*output);
  for (const absl::string_view name : VariablesInAttrs(op.desc())) {
    const Variable* variable = program_.Find(op.block(), name);
    if (variable == nullptr || variable->desc() == nullptr) dangling("an attribute reads", name);
  }
}

bool ReadCheck::HasFeedOps() {
  if (!has_feed_ops_.has_value()) {
    const auto ops = program_.block(0).ops();
    has_feed_ops_ = std::any_of(ops.begin(), ops.end(), IsFeed);
  }
  return *has_feed_ops_;
}

std::string NameCheck::Suggestion(const Op& op, absl::string_view name) {
  if (suggestions_left_ == 0 || name.size() > kLongestSuggestion) return "";
  --suggestions_left_;
  const std::string nearest = NearestName(name, NamesSeenFrom(op.block()));
  return nearest.empty() ? "" : absl::StrCat("; did you mean \"", nearest, "\"?");
}

ReadCheck::ReadCheck(const Program& program, FindingList* findings)
    : program_(program), findings_(findings), quantized_arguments_left_(kMostQuantizedArguments) {}

// The op may be as wide as the program, so its inputs are not walked.
bool ReadCheck::ReadsOrQuantized(const Op& op, const Variable& variable) {
  std::vector<const Variable*> open = {&variable};
  absl::flat_hash_set<const Variable*> seen = {&variable};
  while (!open.empty()) {
    const Variable& read = *open.back();
    open.pop_back();
    if (&read != &variable && quantized_arguments_left_ <= 0) return false;
    const std::vector<const Argument*> arguments = read.arguments();
    if (&read != &variable) quantized_arguments_left_ -= static_cast<int64_t>(arguments.size());
    for (const Argument* argument : arguments) {
      const Op& reader = argument->op();
      if (argument->is_output()) continue;
      if (&reader == &op) return true;
      const OpSchema* schema = FindOpSchema(reader.type());
      const bool quantizes = schema != nullptr && schema->quant_op() != QuantOp::kNone;
      const bool is_scheduled = reader.Input(kStepSlot) != nullptr;
      if ((!quantizes && !is_scheduled) || quantized_arguments_left_ <= 0) continue;
      quantized_arguments_left_ -= static_cast<int64_t>(reader.outputs().size());
      for (const Argument* output : reader.outputs()) {
        const Variable* made = output->variable();
        if (made != nullptr && seen.insert(made).second) open.push_back(made);
      }
    }
  }
  return false;
}

// Whether a variable looks like one that is fed and then updated in place.
bool ReadCheck::MayBeFed(const Variable& variable, const Op& first_writer) {
  const auto [known, is_new] = may_be_fed_.try_emplace(&variable, false);
  if (!is_new) return known->second;
  return known->second =
             variable.desc()->need_check_feed() || ReadsOrQuantized(first_writer, variable);
}

void ReadCheck::Check(const Op& op) {
  for (const Argument* input : op.inputs()) {
    const Variable* variable = input->variable();
    // What an op passes to the block that it runs enters there unwritten.
    if (variable == nullptr || variable->desc() == nullptr || variable->block().index() != 0) {
      continue;
    }
    if (ExistsByItself(*variable) || input->value()->origin() != Value::Origin::kEntry) continue;
    // A loop's gradient op treats missing gradients as zero.
    if (!op.sub_blocks().empty() && absl::EndsWith(input->slot_name(), kGradientSuffix)) continue;
    const auto read = [&] {
      return absl::StrCat("input ", input->slot_name(), " reads \"", input->name(), "\", ");
    };
    if (const Op* writer = FirstWriter(*variable); writer != nullptr) {
      if (!HasFeedOps() && MayBeFed(*variable, *writer)) continue;
      findings_->Error(FindingCode::kUnreachedRead, op,
                       absl::StrCat(read(), "which is written only later and is not persistable"));
    } else if (HasFeedOps()) {  // without them, what no op writes is fed
      findings_->Error(FindingCode::kUnreachedRead, op,
                       absl::StrCat(read(), "which no op writes and no feed op fills"));
    } else if (absl::EndsWith(input->name(), kGradientSuffix)) {
      findings_->Error(FindingCode::kUnreachedRead, op,
                       absl::StrCat(read(), "a gradient that no op writes"));
    }
  }
  CheckAttributes(op);
}

// It is unknown which value an attribute's variable refers to, but known that there is none before
// the op.
void ReadCheck::CheckAttributes(const Op& op) {
  for (const absl::string_view name : VariablesInAttrs(op.desc())) {
    const Variable* variable = program_.Find(op.block(), name);
    if (variable == nullptr || variable->desc() == nullptr || variable->block().index() != 0 ||
        ExistsByItself(*variable)) {
      continue;
    }
    const Op* writer = FirstWriter(*variable);
    if (writer == nullptr && HasFeedOps()) {
      findings_->Error(FindingCode::kUnreachedRead, op,
                       absl::StrCat("an attribute reads \"", name,
                                    "\", which no op writes and no feed op fills"));
    } else if (writer != nullptr && &writer->block() == &op.block() && op.IsBefore(*writer)) {
      findings_->Error(FindingCode::kUnreachedRead, op,
                       absl::StrCat("an attribute reads \"", name,
                                    "\", which is written only later and is not persistable"));
    }
  }
}

}  // namespace fixpoint
