#include "tests/docs/integer_shares.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "proto/file/program_file.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "runtime/run_op_types.h"
#include "tests/testing/reference_data.h"
#include "tools/made_up_parameters.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/lower/lower.h"
#include "transpiler/plan/target.h"
#include "transpiler/prepare/prepare.h"
#include "transpiler/report/lowering_account.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

constexpr char kTarget[] = "onednn_int8";

bool IsProduct(const std::string& type) {
  const OpSchema* const schema = FindOpSchema(type);
  return schema != nullptr && schema->traits().product.has_value();
}

bool Quantizes(const std::string& type) {
  const OpSchema* const schema = FindOpSchema(type);
  return schema != nullptr && schema->quant_op() != QuantOp::kNone;
}

bool HasProduct(const Program& program) {
  return std::any_of(program.ops().begin(), program.ops().end(),
                     [](const Op& op) { return IsProduct(op.type()); });
}

// The target with all that it computes on request, but sums: those it adds as residuals.
absl::StatusOr<TranspileOptions> OptionsForAll() {
  TranspileOptions options;
  options.config.set_target(kTarget);
  ASSIGN_OR_RETURN(const Target target, BuiltInTarget(kTarget));
  std::set<std::string> asked;
  for (const Target::QuantizedOp& op : target.ops()) {
    if (!op.on_request()) continue;
    for (const std::string& type : op.types()) asked.insert(type);
  }
  asked.erase("elementwise_add");
  for (const std::string& type : asked) options.config.add_also_quantize(type);
  return options;
}

// What a program without fetch ops is run for: what its last op writes.
std::vector<std::string> FetchesOf(const Program& program) {
  if (!FetchedVariables(program).empty()) return {};
  const Op* const last = program.block(0).last_op();
  return {std::string(last->outputs().front()->name())};
}

struct Lowered {
  FrozenModel portable;
  LoweredModel model;
  QuantPlan plan;
};

absl::StatusOr<Lowered> PrepareAndLower(const Program& program) {
  ASSIGN_OR_RETURN(const Scope parameters, MadeUpParameters(program));
  ASSIGN_OR_RETURN(PreparedModel prepared, Prepare(program, parameters));
  ASSIGN_OR_RETURN(const TranspileOptions options, OptionsForAll());
  ASSIGN_OR_RETURN(TranspileResult transpiled, Transpile(&prepared.program, options));
  ASSIGN_OR_RETURN(const Scope trained, MadeUpParameters(prepared.program, prepared.scope));
  FreezeOptions freeze;
  freeze.fetches = FetchesOf(prepared.program);
  ASSIGN_OR_RETURN(FrozenModel frozen, Freeze(prepared.program, trained, freeze));
  ASSIGN_OR_RETURN(LoweredModel lowered, Lower(frozen.program, frozen.scope));
  return Lowered{std::move(frozen), std::move(lowered), std::move(transpiled.plan)};
}

// The reason of the plan where there is one, because that says more than that lowering found no
// codes.
std::string ReasonOf(const LoweredOp& op, const std::map<std::string, std::string>& kept) {
  const auto found = kept.find(op.output);
  return found != kept.end() ? found->second : std::string(ReasonCode(op));
}

bool HoldsFloats(const Argument& argument) {
  const Variable* const variable = argument.variable();
  return variable == nullptr || variable->tensor() == nullptr ||
         variable->tensor()->data_type() == VarType::FP32;
}

// The ops of a program that are on integers whatever is quantized, because they read and write no
// floats: they compute shapes, counters and conditions. By block and index.
std::set<std::pair<int, int>> OpsWithoutFloats(const Program& program) {
  std::set<std::pair<int, int>> found;
  for (int b = 0; b < program.block_count(); ++b) {
    int index = -1;
    for (const Op& op : program.block(b).ops()) {
      ++index;
      const OpSchema* const schema = FindOpSchema(op.type());
      if (schema == nullptr || !op.sub_blocks().empty()) continue;
      const bool reads =
          std::any_of(op.inputs().begin(), op.inputs().end(), [&](const Argument* input) {
            const SlotSchema* const slot = schema->FindInput(input->slot_name(), EraOf(program));
            return HoldsFloats(*input) && (slot == nullptr || !slot->shape_only);
          });
      const bool writes = std::any_of(op.outputs().begin(), op.outputs().end(),
                                      [](const Argument* output) { return HoldsFloats(*output); });
      if (!reads && !writes) found.emplace(b, index);
    }
  }
  return found;
}

void Count(const Lowered& lowered, IntegerShare* share) {
  std::map<std::string, std::string> kept;  // by output
  for (const QuantPlan::Decision& decision : lowered.plan.decisions()) {
    if (!decision.quantized()) kept[decision.output()] = decision.reason();
  }
  const auto& ops = lowered.model.ops;
  const auto is_product = [](const LoweredOp& op) { return IsProduct(op.type); };
  const auto first = std::find_if(ops.begin(), ops.end(), is_product);
  const auto last = std::find_if(ops.rbegin(), ops.rend(), is_product).base();
  std::map<std::pair<std::string, std::string>, int> floats;
  const std::set<std::pair<int, int>> without_floats = OpsWithoutFloats(lowered.portable.program);
  for (auto op = first; op < last; ++op) {
    if (Quantizes(op->type) || without_floats.count({op->block, op->op}) > 0) continue;
    ++share->ops;
    if (PartOf(op->reason) == LoweredPart::kIntegers) {
      ++share->integers;
    } else {
      ++floats[{op->type, ReasonOf(*op, kept)}];
    }
  }
  share->floats = absl::StrJoin(floats, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second, " ", entry.first.first, " `", entry.first.second, "`");
  });
  std::set<std::string> types;
  for (const Op* op : FindOpsThatNothingRuns(lowered.model.program)) types.insert(op->type());
  share->not_run = absl::StrJoin(types, ", ");
}

// Nothing for a program that is no float program for inference with a product.
std::optional<IntegerShare> Measure(const std::string& path, const std::string& file) {
  absl::StatusOr<LoadedProgram> loaded = LoadProgram(path);
  if (!loaded.ok()) return std::nullopt;
  const absl::StatusOr<Program> program = Program::Create(std::move(loaded->program), file);
  if (!program.ok() || !HasProduct(*program)) return std::nullopt;
  for (const Op& op : program->ops()) {
    const bool trains = (op.role() & (kBackward | kOptimize | kLearningRate)) != 0;
    if (trains || Quantizes(op.type())) return std::nullopt;
  }
  IntegerShare share;
  share.file = file;
  const absl::StatusOr<Lowered> lowered = PrepareAndLower(*program);
  if (lowered.ok()) {
    Count(*lowered, &share);
  } else {
    share.left_alone = std::string(lowered.status().message());
  }
  return share;
}

}  // namespace

std::vector<IntegerShare> MeasureIntegerShares() {
  std::vector<IntegerShare> shares;
  const std::string models = ReferencePath("models");
  for (const std::string& path : ReferencePrograms()) {
    std::optional<IntegerShare> share = Measure(path, path.substr(models.size() + 1));
    if (share) shares.push_back(*std::move(share));
  }
  return shares;
}

std::string IntegerSharesSection(const std::vector<IntegerShare>& shares) {
  std::string section = absl::StrCat(
      "## On integers\n\n"
      "Each float program for inference, prepared (`transpile --mode=prepare`), quantized for `",
      kTarget,
      "` with everything that\nthis computes on request except for sums, which it adds as "
      "residuals, frozen and lowered; with made-up parameters. *on\nintegers* is of the ops "
      "between the first and the last product, without those that quantize and dequantize, and "
      "without those of\nshapes and counters, which read and write no floats; *float* says why the "
      "others are not, by\n[reason code](lists/reason_codes.md). *runs*: whether `infer` runs the "
      "result, or which ops it does not know.\n\n"
      "What classifies, recognises or encodes and has less than 95 % there keeps in float: layer "
      "norms and softmax, which divide\nby what they sum up; sums with a mask, which is of another "
      "shape; a recurrent op, its state, and what moves its input; the\nstate of a decoder that "
      "loops; and what reads the results of a network, where nothing is quantized any more.\n\n"
      "| program | on integers | float | runs |\n|---|--:|---|---|\n");
  for (const IntegerShare& share : shares) {
    if (!share.left_alone.empty()) {
      absl::StrAppend(&section, "| `", share.file, "` | - | left alone: ", share.left_alone,
                      " | no |\n");
      continue;
    }
    const double percent = 100.0 * share.integers / share.ops;
    absl::StrAppend(&section, "| `", share.file, "` | ", share.integers, " of ", share.ops,
                    absl::StrFormat(" (%.1f %%) | ", percent),
                    share.floats.empty() ? "-" : share.floats, " | ",
                    share.not_run.empty() ? "yes" : absl::StrCat("no: ", share.not_run), " |\n");
  }
  return section;
}

}  // namespace fixpoint
