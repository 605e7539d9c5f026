#include "tests/property/inference_property.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "ops/verifier.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "proto/wire/deterministic_bytes.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/random_program.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/report/reduce.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

constexpr std::pair<FrozenForm, const char*> kForms[] = {
    {FrozenForm::kPortable, "portable"},
    {FrozenForm::kLegacy, "legacy"},
    {FrozenForm::kLegacyInt8, "legacy_int8"},
};

// "" where there is none.
std::string FirstError(const Program& program) {
  for (const Finding& finding : Verify(program)) {
    if (finding.severity == Severity::kError) return finding.message;
  }
  return "";
}

// Floats of both signs; elements of other types are 0.
absl::StatusOr<Scope> RandomParameters(const Program& program, Random& random) {
  Scope scope;
  for (const ParameterInfo& parameter : ParametersOf(program.Proto())) {
    absl::StatusOr<Tensor> tensor = Tensor::Allocate(parameter.dtype, parameter.dims);
    if (!tensor.ok()) return tensor.status();
    for (uint8_t& byte : tensor->mutable_bytes()) byte = 0;
    // Ranges are not negative, and 0 is the initial range of an untrained quantizer.
    const bool is_scalar = tensor->size() == 1;
    const auto number = [&] { return (random.Below(2000) + (is_scalar ? 1 : -1000)) / 256.0; };
    if (tensor->dtype() == VarType::FP32) {
      for (float& value : tensor->mutable_data<float>()) value = static_cast<float>(number());
    } else if (tensor->dtype() == VarType::FP64) {
      for (double& value : tensor->mutable_data<double>()) value = number();
    }
    scope.Set(parameter.name, *std::move(tensor));
  }
  return scope;
}

// What the last op of the forward part that was there before computes; "" where there is none.
std::string LastValue(const Program& program) {
  std::string last;
  for (const Op& op : program.block(0).ops()) {
    if ((op.role() & (kBackward | kOptimize | kLearningRate)) != 0) continue;
    if (op.FindAttr(kInsertedByAttr) != nullptr) continue;
    for (const Argument* output : op.outputs()) {
      const Variable* variable = output->variable();
      if (variable != nullptr && variable->tensor() != nullptr && !variable->persistable()) {
        last = variable->name();
      }
    }
  }
  return last;
}

std::string Parameters(const FrozenModel& model) {
  size_t count = 0;
  for (const ParameterInfo& parameter : ParametersOf(model.program.Proto())) {
    const Scope::Value* value = model.scope.FindOrNull(parameter.name);
    const Tensor* tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
    if (tensor == nullptr) return absl::StrCat("parameters: there is no ", parameter.name);
    if (tensor->dtype() != parameter.dtype || tensor->dims() != parameter.dims) {
      return absl::StrCat("parameters: ", parameter.name, " is another than declared");
    }
    ++count;
  }
  return count == model.scope.size() ? "" : "parameters: there are some that are not declared";
}

std::string Captures(const Program& program) {
  for (const ParameterInfo& parameter : ParametersOf(program.Proto())) {
    const Variable& variable = *program.Find(program.block(0), parameter.name);
    bool is_captured = false;
    bool is_read = false;
    for (const Argument* argument : variable.arguments()) {
      (argument->op().sub_blocks().empty() ? is_read : is_captured) = true;
    }
    if (is_captured && !is_read) {
      return absl::StrCat("captures: ", parameter.name, " is there for nothing else");
    }
  }
  return "";
}

std::string Frozen(const Program& program, const Scope& scope, FrozenForm form) {
  FreezeOptions options;
  options.form = form;
  options.fetches = {LastValue(program)};
  options.allow_dynamic = true;
  const absl::StatusOr<FrozenModel> model = Freeze(program, scope, options);
  if (!model.ok()) return absl::StrCat("freeze: ", std::string(model.status().message()));
  const auto loaded = Program::Create(model->program.Proto(), "frozen");
  if (!loaded.ok()) return absl::StrCat("verifies: ", std::string(loaded.status().message()));
  if (const std::string error = FirstError(*loaded); !error.empty()) {
    return absl::StrCat("verifies: ", error);
  }
  if (std::string broken = Parameters(*model); !broken.empty()) return broken;
  return Captures(*loaded);
}

// The bytes of what freezing is given.
std::string BytesOf(const Program& program, const Scope& scope) {
  std::string bytes = DeterministicBytes(program.Proto());
  for (const auto& [name, value] : scope) {
    const auto held = std::get<Tensor>(value).bytes();
    absl::StrAppend(&bytes, name, std::string(held.begin(), held.end()));
  }
  return bytes;
}

// As of transpile_property.cc: the property and what an error says, but for numbers.
std::string Symptom(const std::string& broken) {
  std::string line = broken.substr(0, broken.find('\n'));
  line.erase(std::remove_if(line.begin(), line.end(), absl::ascii_isdigit), line.end());
  return line;
}

// Puts a mistake into a program: one such as damaged or hand-written programs have.
void Damage(ProgramDesc& program, Random& random) {
  BlockDesc& block = *program.mutable_blocks(random.Below(program.blocks_size()));
  if (block.ops_size() == 0 || block.vars_size() == 0) return;
  const auto any_op = [&]() -> OpDesc& {
    return *block.mutable_ops(random.Below(block.ops_size()));
  };
  const auto any_name = [&] { return block.vars(random.Below(block.vars_size())).name(); };
  // Mostly in the program that is to be frozen.
  std::vector<int> quantizing;
  for (int i = 0; i < block.ops_size(); ++i) {
    if (FindAttr(block.ops(i), kInsertedByAttr) != nullptr) quantizing.push_back(i);
  }
  const bool takes_any = quantizing.empty() || random.OneIn(4);
  OpDesc& op = takes_any ? any_op() : *block.mutable_ops(random.OneOf(quantizing));
  auto& slots =
      random.OneIn(2) || op.outputs_size() == 0 ? *op.mutable_inputs() : *op.mutable_outputs();
  OpDesc::Var* slot = slots.empty() ? nullptr : &slots[random.Below(slots.size())];
  const bool has_argument = slot != nullptr && slot->arguments_size() > 0;
  std::string* argument =
      has_argument ? slot->mutable_arguments(random.Below(slot->arguments_size())) : nullptr;
  VarDesc& variable = *block.mutable_vars(random.Below(block.vars_size()));
  switch (random.Below(12)) {
    case 0:
      if (has_argument) slot->add_arguments(slot->arguments(0));
      return;
    case 1:
      if (has_argument) *argument = kEmptyArgument;
      return;
    case 2:
      if (has_argument) *argument = any_name();
      return;
    case 3:
      if (slot != nullptr) slot->add_arguments(any_name());
      return;
    case 4:
      if (slot != nullptr) slot->set_parameter("Other");
      return;
    case 5:
      if (slot != nullptr) slot->clear_arguments();
      return;
    case 6:
      op.set_type(any_op().type());
      return;
    case 7: {
      const OpDesc copy = op;
      *block.add_ops() = copy;
      return;
    }
    case 8:
      op.Swap(&any_op());
      return;
    case 9:
      variable.set_persistable(!variable.persistable());
      return;
    case 10:
      variable.clear_type();
      variable.mutable_type()->set_type(VarType::RAW);
      return;
    case 11:
      if (op.attrs_size() > 0) {
        op.mutable_attrs(random.Below(op.attrs_size()))->set_i(random.Below(40) - 20);
      }
      return;
  }
}

bool IsMistakeOfInput(const absl::Status& status) {
  return status.code() == absl::StatusCode::kInvalidArgument ||
         status.code() == absl::StatusCode::kNotFound ||
         status.code() == absl::StatusCode::kUnimplemented ||
         status.code() == absl::StatusCode::kFailedPrecondition;
}

std::string FirstDefect(const ProgramDesc& desc) {
  const auto program = Program::Create(desc, "program");
  if (!program.ok()) return "";
  const absl::Status test = MakeTestProgram(*program).status();
  if (!test.ok() && !IsMistakeOfInput(test)) return absl::StrCat("test: ", test.ToString());
  Random random(1);
  const auto scope = RandomParameters(*program, random);
  if (!scope.ok()) return "";
  for (const auto& [form, name] : kForms) {
    FreezeOptions options;
    options.form = form;
    options.allow_dynamic = true;
    const std::string last = LastValue(*program);
    if (!last.empty()) options.fetches = {last};
    const absl::Status status = Freeze(*program, *scope, options).status();
    if (!status.ok() && !IsMistakeOfInput(status)) {
      return absl::StrCat("freeze: ", status.ToString(), " (", name, ")");
    }
  }
  return "";
}

}  // namespace

std::string FirstBrokenInferenceProperty(const TranspileCase& tried) {
  auto program = Program::Create(tried.program, "program");
  if (!program.ok()) return absl::StrCat("program: ", std::string(program.status().message()));
  TranspileOptions transpile;
  transpile.config = tried.config;
  const auto result = Transpile(&*program, transpile);
  if (!result.ok()) return absl::StrCat("transpile: ", std::string(result.status().message()));
  const auto& sites = result->plan.sites();
  if (std::all_of(sites.begin(), sites.end(), [](const auto& site) { return site.observe(); })) {
    return "";
  }

  const auto test = MakeTestProgram(*program);
  if (!test.ok()) return absl::StrCat("test: ", std::string(test.status().message()));
  if (const std::string error = FirstError(*test); !error.empty() && FirstError(*program).empty()) {
    return absl::StrCat("test: does not verify: ", error);
  }
  if (LastValue(*program).empty()) return "";
  Random random(program->Proto().ByteSizeLong());
  const auto scope = RandomParameters(*program, random);
  if (!scope.ok()) return absl::StrCat("parameters: ", std::string(scope.status().message()));
  const std::string before = BytesOf(*program, *scope);
  for (const auto& [form, name] : kForms) {
    if (const std::string broken = Frozen(*program, *scope, form); !broken.empty()) {
      return absl::StrCat(broken, " (", name, ")");
    }
    if (BytesOf(*program, *scope) != before) return "untouched: freezing changes what it is given";
  }
  return "";
}

std::string DamagedReportOfSeed(uint64_t seed) {
  const TranspileCase tried = RandomTranspileCase(seed);
  auto program = Program::Create(tried.program, "program");
  if (!program.ok()) return absl::StrCat("program: ", std::string(program.status().message()));
  TranspileOptions transpile;
  transpile.config = tried.config;
  const absl::Status status = Transpile(&*program, transpile).status();
  if (!status.ok()) return absl::StrCat("transpile: ", std::string(status.message()));
  Random random(seed);
  for (int tries = 0; tries < 10; ++tries) {
    ProgramDesc damaged = program->Proto();
    damaged.clear_edit_log();
    for (int mistakes = 1 + random.Below(2); mistakes > 0; --mistakes) Damage(damaged, random);
    const std::string defect = FirstDefect(damaged);
    if (defect.empty()) continue;
    const ProgramDesc reduced = Reduce(damaged, [&](const ProgramDesc& candidate) {
      return Symptom(FirstDefect(candidate)) == Symptom(defect);
    });
    return absl::StrCat("seed ", seed, ": ", defect, "\n", FirstDefect(reduced), "\nreduced to\n",
                        PrintProgram(reduced));
  }
  return "";
}

std::string InferenceReportOfSeed(uint64_t seed) {
  const TranspileCase tried = RandomTranspileCase(seed);
  const std::string broken = FirstBrokenInferenceProperty(tried);
  if (broken.empty()) return "";
  const ProgramDesc reduced = Reduce(tried.program, [&](const ProgramDesc& candidate) {
    return Symptom(FirstBrokenInferenceProperty({candidate, tried.config, tried.pipeline})) ==
           Symptom(broken);
  });
  return absl::StrCat("seed ", seed, ": ", broken, "\nconfig: ", tried.config.ShortDebugString(),
                      "\n", FirstBrokenInferenceProperty({reduced, tried.config, tried.pipeline}),
                      "\nreduced to\n", PrintProgram(reduced));
}

}  // namespace fixpoint
