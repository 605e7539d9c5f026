#include "tests/docs/lists.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "glog/logging.h"
#include "ops/codes/integer_reasons.h"
#include "ops/families.h"
#include "ops/op_schema.h"
#include "ops/quantizer_table.h"
#include "proto/base/status_macros.h"
#include "proto/text/program_text.h"
#include "runtime/executor/op_plans.h"
#include "runtime/reference/kernels.h"
#include "tests/testing/reference_data.h"
#include "transpiler/composites/composite_passes.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/freeze_passes.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/lower/lower.h"
#include "transpiler/lower/lower_passes.h"
#include "transpiler/patterns/pattern_file.h"
#include "transpiler/patterns/rewrite.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/plan/reasons.h"
#include "transpiler/plan/target.h"
#include "transpiler/prepare/prepare.h"
#include "transpiler/prepare/prepare_passes.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

constexpr char kMadeBy[] =
    "Made from the code by `./bazelw run //tests/docs:update`; `//tests/docs` checks that it is "
    "still so.\n";

std::string Page(absl::string_view title, absl::string_view body) {
  return absl::StrCat("# ", title, "\n\n", kMadeBy, "\n", body);
}

std::string Row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) {
    absl::StrAppend(&row, " ", absl::StrReplaceAll(cell, {{"|", "\\|"}}), " |");
  }
  return row + "\n";
}

std::string TableHead(const std::vector<std::string>& titles) {
  std::string head = Row(titles);
  for (size_t i = 0; i < titles.size(); ++i) head += "|---";
  return head + "|\n";
}

std::string Code(absl::string_view text) { return absl::StrCat("`", text, "`"); }

std::string CodeList(const std::vector<std::string>& names) {
  if (names.empty()) return "-";
  return absl::StrJoin(names, ", ",
                       [](std::string* out, const std::string& name) { *out += Code(name); });
}

// As signatures of definitions say it.
std::string EraMark(Eras eras) {
  return eras == Eras::kFluid ? "@1" : eras == Eras::kPaddle2 ? "@2" : "";
}

std::string SlotsText(absl::Span<const SlotSchema> slots) {
  return absl::StrCat("(",
                      absl::StrJoin(slots, ", ",
                                    [](std::string* out, const SlotSchema& slot) {
                                      absl::StrAppend(out, slot.name, slot.list ? "*" : "",
                                                      slot.optional && !slot.list ? "?" : "",
                                                      EraMark(slot.eras));
                                    }),
                      ")");
}

std::string AttrText(const AttrSchema& attr) {
  if (attr.default_value == nullptr) {
    return Code(absl::StrCat(attr.name, EraMark(attr.eras), " ", AttrType_Name(attr.type)));
  }
  return Code(
      absl::StrCat(attr.name, EraMark(attr.eras), "=", PrintAttrValue(*attr.default_value)));
}

std::string AttrsText(absl::Span<const AttrSchema> attrs) {
  return absl::StrJoin(attrs, ", ",
                       [](std::string* out, const AttrSchema& attr) { *out += AttrText(attr); });
}

std::string RoleText(SlotRole::Role role) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(SlotRole::Role_Name(role)), {{"_", " "}});
}

absl::string_view QuantOpName(QuantOp quant_op) {
  switch (quant_op) {
    case QuantOp::kNone:
      return "";
    case QuantOp::kQuantize:
      return "quantizes";
    case QuantOp::kDequantize:
      return "dequantizes";
    case QuantOp::kQuantizeDequantize:
      return "quantizes and dequantizes";
    case QuantOp::kObserve:
      return "observes";
  }
  return "";
}

std::string TraitsText(const OpSchema& schema) {
  std::vector<std::string> traits;
  for (const QuantizableInput& input : schema.quantizable_inputs()) {
    traits.push_back(absl::StrCat(Code(input.slot), " ", RoleText(input.role)));
  }
  for (const std::string& slot : schema.quantizable_outputs()) {
    traits.push_back(absl::StrCat(Code(slot), " observable"));
  }
  if (schema.keeps_range()) traits.push_back("keeps range");
  if (schema.never_negative()) traits.push_back("never negative");
  if (schema.keeps_sign()) traits.push_back("keeps sign");
  if (schema.quant_op() != QuantOp::kNone) {
    traits.push_back(std::string(QuantOpName(schema.quant_op())));
  }
  return absl::StrJoin(traits, ", ");
}

std::string GradientText(const OpSchema& schema) {
  if (!schema.gradient_known()) return "not known";
  std::vector<std::string> types;
  for (const GradientSchema& gradient : schema.gradients()) {
    types.push_back(gradient.type + EraMark(gradient.eras));
  }
  return CodeList(types);
}

struct Family {
  std::string name;
  std::vector<OpSchema> ops;
};

std::vector<Family> Families() {
  return {
#define FIXPOINT_OP_FAMILY(family) {#family, family##Ops()},
#include "ops/all_ops.inc"
#undef FIXPOINT_OP_FAMILY
  };
}

// "Int8Runtime" gives "int8_runtime", the name of the family's file.
std::string FileOf(const std::string& family) {
  std::string file;
  for (const char c : family) {
    if (absl::ascii_isupper(c) && !file.empty()) file += '_';
    file += absl::ascii_tolower(c);
  }
  return file;
}

std::string Signature(const OpSchema& schema) {
  return Code(
      absl::StrCat(schema.type(), SlotsText(schema.inputs()), " -> ", SlotsText(schema.outputs())));
}

std::string OpsPage() {
  std::string tables;
  std::string of_gradients = TableHead({"op", "gradient of"});
  int forward = 0;
  int gradients = 0;
  for (const Family& family : Families()) {
    absl::StrAppend(&tables, "\n## ", family.name, "\n\n",
                    Code(absl::StrCat("ops/families/", FileOf(family.name), ".cc")), "\n\n",
                    TableHead({"op", "what it is", "attributes", "gradient", "traits"}));
    for (const OpSchema& schema : family.ops) {
      if (!schema.gradient_of().empty()) {
        ++gradients;
        of_gradients += Row({Signature(schema), Code(schema.gradient_of())});
        continue;
      }
      ++forward;
      tables += Row({Signature(schema), schema.doc(), AttrsText(schema.attrs()),
                     GradientText(schema), TraitsText(schema)});
    }
  }
  return Page(
      "Ops",
      absl::StrCat(
          forward, " op types and ", gradients,
          " gradient op types that belong to one of them. An op of another type is carried as it "
          "is.\n\n"
          "`X?` may be absent, `X*` has any number of arguments, `@1` exists only before 2.0 and "
          "`@2` only since. An attribute without a default has to be there. Traits: what a slot "
          "can be quantized as (an addend stays float unless a rule asks); whose range can be "
          "observed; whether the output holds the input's values and no others.\n",
          tables,
          "\n## Gradient ops\n\nThey have the attributes of the op whose gradient they "
          "compute.\n\n",
          of_gradients));
}

std::string PassesOf(absl::string_view pipelines, const PassTable& passes) {
  std::string text = absl::StrCat("\n", std::string(pipelines), " can name:\n\n");
  text +=
      TableHead({"pass", "what it does", "requires", "establishes", "consumes", "comes before"});
  for (const auto& pass : passes.all()) {
    text += Row({Code(pass->name()), std::string(pass->doc()), CodeList(pass->Requires()),
                 CodeList(pass->Establishes()), CodeList(pass->Consumes()),
                 CodeList(pass->ComesBefore())});
  }
  return text;
}

std::string PassesPage() {
  std::string body =
      "A pipeline is passes of its stage by name, with commas between them; it is checked for what "
      "each pass "
      "requires before anything runs. What a pass consumes holds no longer after it, and it comes "
      "before whatever establishes the facts of the last column.\n\n";
  body += TableHead({"pipeline", "passes"});
  body += Row({"`transpile`", Code(kTrainPipeline)});
  body += Row({"`transpile --mode=test`", Code(kTestPipeline)});
  body += Row({"`transpile --mode=rewrite`", Code(RewriteOptions().pipeline)});
  body += Row({"`transpile --mode=prepare`", Code(PreparePipelineOf({}))});
  PrepareOptions all;
  all.equalize_weights = true;
  all.add_biases = true;
  all.split_layer_norms = true;
  body += Row({"the same, `--equalize_weights --add_biases --split_layer_norms`",
               Code(PreparePipelineOf(all))});
  body += Row({"`transpile --mode=freeze`", Code(kFreezePipeline)});
  body += Row({"the same, legacy forms", Code(kLegacyFreezePipeline)});
  body += Row({"`transpile --mode=lower`", Code(kLowerPipeline)});
  body += PassesOf("A transpile", TrainPasses());
  body += PassesOf("A preparation", PreparePasses());
  body += PassesOf("A freeze, and a test program", FreezePasses());
  body += PassesOf("A lowering", LowerPasses());
  PassTable composites{{}};
  CHECK(AddCompositePasses(&composites).ok());
  body += PassesOf("All of them, and a rewrite,", composites);
  body +=
      "\n## Built-in patterns\n\nEach is a pass of any pipeline with `--patterns=FILE`; all of a "
      "file together are the pass `apply_patterns` ([patterns](../patterns.md)).\n\n";
  body += TableHead({"file", "pattern", "what it does"});
  for (const std::string& file : BuiltInPatternFiles()) {
    const absl::StatusOr<std::vector<Pattern>> patterns = LoadPatterns(file);
    CHECK(patterns.ok()) << patterns.status();
    for (const Pattern& pattern : *patterns) {
      body += Row({Code(file), Code(pattern.name), pattern.doc});
    }
  }
  return Page("Passes", body);
}

std::string FormText(const QuantizerRecipe& recipe) {
  return absl::AsciiStrToLower(QuantSpec::Form_Name(recipe.form));
}

std::string StateText(const QuantizerRecipe& recipe) {
  std::vector<std::string> names;
  for (const QuantizerState& state : recipe.state) names.push_back(state.name);
  return CodeList(names);
}

std::string RecipeRows(const Quantizer& quantizer) {
  std::string rows;
  const auto add = [&rows](const QuantizerRecipe& recipe, const std::string& form) {
    const std::string eras = EraMark(recipe.eras);
    rows += Row({form, Code(recipe.quantize_op),
                 recipe.dequantize_op.empty() ? "-" : Code(recipe.dequantize_op), StateText(recipe),
                 eras.empty() ? "both" : Code(eras), recipe.reference_runs_it ? "yes" : "no"});
  };
  for (const QuantizerRecipe& recipe : quantizer.recipes()) add(recipe, FormText(recipe));
  for (const QuantizerRecipe& recipe : quantizer.observers()) add(recipe, "observer");
  return rows;
}

std::string KindText(const Quantizer& quantizer) {
  return absl::StrCat(
      quantizer.is_dynamic() ? "dynamic" : "static", ", ",
      quantizer.granularity() == QuantSpec::PER_CHANNEL ? "per channel" : "per tensor", ", ",
      quantizer.scheme() == QuantSpec::AFFINE ? "affine" : "symmetric");
}

std::string QuantizerPath(const Quantizer& quantizer) {
  return absl::StrCat("quantizers/", quantizer.name(), ".md");
}

std::string QuantizersPage() {
  std::string body =
      "What `QuantSpec.quantizer` can name, each with a page of its formula, gradient, state and "
      "defaults. A dynamic quantizer finds its range anew from each tensor; a static one keeps it "
      "in persistable variables, its state.\n\n";
  body += TableHead({"quantizer", "what it is", ""});
  const QuantizerTable quantizers;
  for (const auto& quantizer : quantizers.all()) {
    body +=
        Row({absl::StrCat("[", Code(quantizer->name()), "](../", QuantizerPath(*quantizer), ")"),
             std::string(quantizer->doc()), KindText(*quantizer)});
  }
  return Page("Quantizers", body);
}

// What the code says of a quantizer, for its page.
std::string QuantizerTables(const Quantizer& quantizer) {
  std::string text = absl::StrCat(
      quantizer.doc(), " (", KindText(quantizer), ")\n\n",
      TableHead({"form", "quantize op", "dequantize op", "state", "eras", "the reference has it"}),
      RecipeRows(quantizer));
  if (quantizer.parameters().empty()) return text;
  absl::StrAppend(&text, "\n", TableHead({"parameter", "default", "from", "to", "what it is"}));
  for (const QuantizerParameter& parameter : quantizer.parameters()) {
    text += Row({Code(parameter.name), absl::StrCat(parameter.default_value),
                 absl::StrCat(parameter.min), absl::StrCat(parameter.max), parameter.doc});
  }
  return text;
}

std::string SpecText(const QuantSpec& spec) { return spec.ShortDebugString(); }

std::string InputsText(const Target::QuantizedOp& op) {
  return absl::StrJoin(op.inputs(), ", ", [](std::string* out, const Target::Slot& slot) {
    absl::StrAppend(out, Code(slot.name()), " ", RoleText(slot.role()));
  });
}

std::string WhenText(const Target::QuantizedOp& op) {
  std::vector<std::string> parts;
  if (op.on_request()) parts.push_back("on request");
  if (op.needs_weight()) parts.push_back("an input is a parameter");
  if (op.no_weight()) parts.push_back("no input is a parameter");
  if (op.shared_scale()) parts.push_back("one scale for all inputs");
  for (const Target::Condition& condition : op.when()) {
    parts.push_back(
        Code(absl::StrCat(condition.attr(), "=",
                          condition.has_equals() ? absl::StrCat("\"", condition.equals(), "\"")
                          : condition.is()       ? "true"
                                                 : "false")));
  }
  if (op.has_weights()) parts.push_back("weights " + Code(SpecText(op.weights())));
  if (op.has_activations()) parts.push_back("activations " + Code(SpecText(op.activations())));
  return parts.empty() ? "always" : absl::StrJoin(parts, "; ");
}

std::string TargetsPage() {
  std::string body =
      "What `--target` and `QuantConfig.target` can name; the files are in "
      "`transpiler/plan/targets`. "
      "What is not said there is not limited. *On request*: only where `also_quantize` or a rule "
      "asks.\n";
  for (const std::string& name : BuiltInTargets()) {
    const absl::StatusOr<Target> target = BuiltInTarget(name);
    CHECK(target.ok()) << target.status();
    absl::StrAppend(&body, "\n## ", Code(name), "\n\n", target->doc(), "\n\n",
                    TableHead({"", "defaults", "abilities"}));
    body += Row({"weights", Code(SpecText(target->weights())),
                 Code(target->weight_abilities().ShortDebugString())});
    body += Row({"activations", Code(SpecText(target->activations())),
                 Code(target->activation_abilities().ShortDebugString())});
    absl::StrAppend(&body, "\n", TableHead({"op types", "inputs", "when"}));
    for (const Target::QuantizedOp& op : target->ops()) {
      body += Row({CodeList({op.types().begin(), op.types().end()}), InputsText(op), WhenText(op)});
    }
    if (target->skip_scopes_size() > 0) {
      absl::StrAppend(&body, "\nFloat by scope: ",
                      CodeList({target->skip_scopes().begin(), target->skip_scopes().end()}),
                      ".\n");
    }
    for (const Target::ObservedOutputs& outputs : target->outputs()) {
      absl::StrAppend(&body, "\nOutputs that `observe_outputs` observes: of ",
                      CodeList({outputs.types().begin(), outputs.types().end()}), ".\n");
    }
  }
  return Page("Targets", body);
}

std::string TargetsTable() {
  std::string table = TableHead({"target", "what it is"});
  for (const std::string& name : BuiltInTargets()) {
    const absl::StatusOr<Target> target = BuiltInTarget(name);
    CHECK(target.ok()) << target.status();
    table += Row({Code(name), target->doc()});
  }
  return table;
}

// A page with what is made in the place that it has for it: between the lines <!-- what --> and
// <!-- end of what -->. Error (kInvalidArgument): it has no such place.
absl::StatusOr<GeneratedFile> WithMade(const GeneratedFile& page, absl::string_view what,
                                       absl::string_view made) {
  const std::string begin_line = absl::StrCat("<!-- ", what, " -->\n");
  const std::string end_line = absl::StrCat("<!-- end of ", what, " -->\n");
  const size_t begin = page.bytes.find(begin_line);
  const size_t end = page.bytes.find(end_line);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    return absl::InvalidArgumentError(
        absl::StrCat(page.path, " has no lines ", begin_line, end_line));
  }
  return GeneratedFile{page.path, absl::StrCat(page.bytes.substr(0, begin), begin_line, "\n", made,
                                               "\n", page.bytes.substr(end))};
}

// With feed and fetch, which are done where a run is fed and fetched.
std::string RunOpTypes() {
  std::set<std::string> types = {"feed", "fetch"};
  for (std::string& type : executor::TypesWithPlan()) types.insert(std::move(type));
  for (std::string& type : reference::TypesWithKernel()) types.insert(std::move(type));
  std::string rows =
      "// The op types that a backend runs, the executor or the interpreter; run_op_types.h.\n"
      "// Made from their kernels by ./bazelw run //tests/docs:update.\n";
  for (const std::string& type : types) {
    absl::StrAppend(&rows, "FIXPOINT_RUN_OP_TYPE(\"", type, "\")\n");
  }
  return rows;
}

std::string ReasonsPage() {
  std::string body =
      "Why an op with a quantizable slot is quantized or stays float. The list is closed.\n\n";
  body += TableHead({"code", "meaning"});
  for (const Reason reason : AllReasons()) {
    body += Row({Code(ReasonCode(reason)), std::string(ReasonMeaning(reason))});
  }
  body +=
      "\n## Of lowered programs\n\n"
      "Whether what an op of a portable program computes is computed on integers, and why not. "
      "This list is closed too.\n\n";
  body += TableHead({"code", "meaning"});
  for (const IntegerReason reason : AllIntegerReasons()) {
    body += Row({Code(IntegerReasonCode(reason)), std::string(IntegerReasonMeaning(reason))});
  }
  return Page("Reason codes", body);
}

}  // namespace

std::vector<GeneratedFile> ListPages() {
  return {{"docs/lists/ops.md", OpsPage()},
          {"docs/lists/passes.md", PassesPage()},
          {"docs/lists/quantizers.md", QuantizersPage()},
          {"docs/lists/targets.md", TargetsPage()},
          {"docs/lists/reason_codes.md", ReasonsPage()},
          {"runtime/run_op_types.inc", RunOpTypes()}};
}

absl::StatusOr<GeneratedFile> ManualWithTargets(absl::string_view manual) {
  return WithMade({"docs/manual.md", std::string(manual)}, "targets", TargetsTable());
}

absl::StatusOr<std::vector<GeneratedFile>> QuantizerPages(const std::string& root) {
  std::vector<GeneratedFile> pages;
  const QuantizerTable quantizers;
  for (const auto& quantizer : quantizers.all()) {
    const std::string path = absl::StrCat("docs/", QuantizerPath(*quantizer));
    const std::string place = absl::StrCat(root, "/", path);
    if (!std::filesystem::exists(place)) {
      return absl::NotFoundError(absl::StrCat("quantizer ", quantizer->name(), " has no page ",
                                              path,
                                              "; docs/adding_a_quantizer.md says what is in it"));
    }
    ASSIGN_OR_RETURN(pages.emplace_back(), WithMade({path, ReadFileOrDie(place)}, "quantizer",
                                                    QuantizerTables(*quantizer)));
  }
  return pages;
}

}  // namespace fixpoint
