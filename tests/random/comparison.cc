#include "tests/random/comparison.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ops/era.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "runtime/executor/constants.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/op_plans.h"
#include "runtime/reference/array.h"
#include "runtime/reference/interpreter.h"
#include "tests/testing/parameter_text.h"

namespace fixpoint::random_cases {
namespace {

using reference::Array;
using reference::Interpreter;
using reference::Precision;

constexpr uint64_t kSeed = 1;
// Roundings of an element besides those of its longest sum, of functions such as exp included.
constexpr int kOtherRoundings = 16;
constexpr double kUnit = 1.0 / (1 << 24);
constexpr double kSmallestNormal = std::numeric_limits<float>::min();

// Whether the program is one op of which the executor says so.
bool RoundsOnce(const Program& program) {
  const auto ops = program.block(0).ops();
  if (std::next(ops.begin()) != ops.end()) return false;
  const Op& op = *ops.begin();
  const executor::OpPlanEntry* const plan = executor::FindOpPlan(op.type());
  const auto attributes = OpAttributes::Of(op.desc(), EraOf(program));
  return plan != nullptr && plan->rounds_once && attributes && plan->rounds_once(*attributes);
}

Scope CopyOf(const Scope& scope) {
  Scope copy;
  for (const auto& [name, value] : scope) copy.Set(name, *Scope::CloneOf(value));
  return copy;
}

absl::StatusOr<std::vector<Tensor>> Interpret(const Program& program,
                                              const std::vector<std::string>& fetches,
                                              Precision precision, const Scope& inputs) {
  Scope scope = CopyOf(inputs);
  absl::StatusOr<Interpreter> interpreter =
      Interpreter::Create(program, &scope, {precision, kSeed});
  if (!interpreter.ok()) return interpreter.status();
  return interpreter->Run({}, fetches, /*step=*/0);
}

absl::StatusOr<std::vector<Tensor>> Execute(const Program& program,
                                            const std::vector<std::string>& fetches,
                                            const Scope& inputs, uint64_t seed) {
  Scope scope = CopyOf(inputs);
  executor::ConstantStore constants;
  executor::ExecutorOptions options;
  options.seed = kSeed;
  options.threads = seed % 4 == 1 ? 2 : 1;
  if (seed % 2 == 0) options.constants = &constants;
  const auto executor = executor::Executor::Create(program, &scope, options);
  if (!executor.ok()) return executor.status();
  return (*executor)->Run({}, fetches, /*step=*/0);
}

std::vector<std::string> WrittenBy(const OpDesc& op) {
  std::set<std::string> names;
  for (const OpDesc::Var& slot : op.outputs()) {
    for (const std::string& name : slot.arguments()) {
      if (name != kEmptyArgument) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

VarDesc* FindVar(BlockDesc* block, const std::string& name) {
  for (VarDesc& var : *block->mutable_vars()) {
    if (var.name() == name) return &var;
  }
  return nullptr;
}

void Declare(const std::string& name, const Tensor& tensor, BlockDesc* block) {
  if (FindVar(block, name) != nullptr) return;
  VarDesc* const var = block->add_vars();
  var->set_name(name);
  var->mutable_type()->set_type(VarType::LOD_TENSOR);
  VarType::TensorDesc* const desc = var->mutable_type()->mutable_lod_tensor()->mutable_tensor();
  desc->set_data_type(tensor.dtype());
  for (const int64_t dim : tensor.dims()) desc->add_dims(dim);
}

// Numbers in [-1, 1), or their kind, for the gradient of what is like `tensor`.
Tensor GradientLike(const Tensor& tensor, Random& random) {
  Array array = *reference::ArrayOf(tensor);
  for (double& value : array.values) {
    value =
        reference::Rounded(static_cast<double>(random.Below(1 << 20)) / (1 << 19) - 1, array.dtype);
  }
  return *reference::TensorOf(array);
}

// The subject of a measurement of the effect of rounding: a program, and values for what it reads.
struct Measured {
  ProgramDesc program;
  Scope inputs;
};

// Appends the gradient ops of that type which the last op has, with random gradients of its
// outputs, and fetches what they write. Gives these ops without the last one, whose outputs are
// inputs there. Error: the forward op does not run, or has no such gradient.
absl::StatusOr<Measured> AppendGradient(RandomCase* random_case, ProgramDesc* desc, uint64_t seed) {
  BlockDesc* const block = desc->mutable_blocks(0);
  const int forward_index = block->ops_size() - 1;
  const OpDesc forward = block->ops(forward_index);
  absl::StatusOr<Program> program = Program::Create(*desc, "program.txt");
  CHECK(program.ok()) << program.status();
  const std::vector<std::string> outputs = WrittenBy(forward);
  absl::StatusOr<std::vector<Tensor>> values =
      Interpret(*program, outputs, Precision::kAsDeclared, random_case->inputs);
  if (!values.ok()) return values.status();
  std::map<std::string, const Tensor*> by_name;
  for (size_t i = 0; i < outputs.size(); ++i) {
    by_name[outputs[i]] = &(*values)[i];
    Declare(outputs[i], (*values)[i], block);
  }
  Random random(seed);
  random_case->fetches.clear();
  for (OpDesc& gradient : FindOpSchema(forward.type())->MakeGradient(forward, random_case->era)) {
    if (gradient.type() != random_case->gradient) continue;
    for (const OpDesc::Var& slot : gradient.inputs()) {
      for (const std::string& name : slot.arguments()) {
        const auto value = by_name.find(std::string(absl::StripSuffix(name, kGradientSuffix)));
        if (!absl::EndsWith(name, kGradientSuffix) || value == by_name.end()) continue;
        if (random_case->inputs.FindOrNull(name) != nullptr) continue;
        random_case->inputs.Set(name, GradientLike(*value->second, random));
        Declare(name, *value->second, block);
        if (!random_case->moved.empty()) random_case->moved.push_back(name);
      }
    }
    for (const std::string& name : WrittenBy(gradient)) random_case->fetches.push_back(name);
    *block->add_ops() = std::move(gradient);
  }
  if (random_case->fetches.empty()) return absl::NotFoundError("no such gradient");
  Measured measured = {*desc, CopyOf(random_case->inputs)};
  measured.program.mutable_blocks(0)->mutable_ops()->DeleteSubrange(forward_index, 1);
  for (size_t i = 0; i < outputs.size(); ++i) {
    measured.inputs.Set(outputs[i], std::move((*values)[i]));
  }
  return measured;
}

// Every float among the inputs to move is the one above or below.
Scope Moved(const Scope& inputs, std::vector<std::string> names, Random& random) {
  Scope moved = CopyOf(inputs);
  if (names.empty()) {
    for (const auto& [name, value] : inputs) names.push_back(name);
  }
  for (const std::string& name : names) {
    Tensor& tensor = std::get<Tensor>(*moved.FindOrNull(name));
    if (tensor.dtype() != VarType::FP32) continue;
    for (float& value : tensor.mutable_data<float>()) {
      if (value == 0) continue;
      value = std::nextafter(value, random.OneIn(2) ? std::numeric_limits<float>::infinity()
                                                    : -std::numeric_limits<float>::infinity());
    }
  }
  return moved;
}

double LargestFinite(const Array& array) {
  double largest = 0;
  for (const double value : array.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

// The largest difference of finite elements. Infinity where others are not equal.
double Distance(const Array& a, const Array& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double distance = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double difference = std::fabs(a[i] - b[i]);
    distance = std::max(distance, std::isnan(difference) ? kInfinity : difference);
  }
  return distance;
}

// For each fetch, what moving the inputs by one unit in the last place moves, and what rounding
// the outputs of ops does.
std::vector<double> EffectOfRounding(Measured measured, const RandomCase& random_case,
                                     const std::vector<Tensor>& rounded, uint64_t seed) {
  constexpr int kTimes = 3;
  std::vector<double> effects(random_case.fetches.size(), 0);
  const absl::StatusOr<Program> program =
      Program::Create(std::move(measured.program), "program.txt");
  CHECK(program.ok()) << program.status();
  const auto exact = Interpret(*program, random_case.fetches, Precision::kDouble, measured.inputs);
  if (!exact.ok()) return effects;
  const auto note = [&](const std::vector<Tensor>& values) {
    for (size_t i = 0; i < effects.size(); ++i) {
      const Array a = *reference::ArrayOf((*exact)[i]);
      const Array b = *reference::ArrayOf(values[i]);
      if (a.dims == b.dims) effects[i] = std::max(effects[i], Distance(a, b));
    }
  };
  note(rounded);
  Random random(seed);
  for (int time = 0; time < kTimes; ++time) {
    const auto moved = Interpret(*program, random_case.fetches, Precision::kDouble,
                                 Moved(measured.inputs, random_case.moved, random));
    if (moved.ok()) note(*moved);
  }
  return effects;
}

// A scalar is [1] in plans.
std::vector<int64_t> PlannedDims(const Tensor& tensor) {
  if (tensor.dims().empty()) return {1};
  return tensor.dims();
}

// The place where two arrays differ most.
std::string FarthestText(const Array& got, const Array& expected) {
  int64_t at = 0;
  double farthest = -1;
  int64_t count = 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))) continue;
    ++count;
    double difference = std::fabs(got[i] - expected[i]);
    if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
    if (difference > farthest) {
      farthest = difference;
      at = i;
    }
  }
  return absl::StrFormat("%d of %d elements differ; element %d is %.9g, on the interpreter %.9g",
                         count, got.size(), at, got[at], expected[at]);
}

// A line each, of which the end is left out where it is long.
std::string InputsText(const Scope& inputs) {
  constexpr size_t kLongest = 300;
  std::string text;
  const std::vector<std::string> lines = absl::StrSplit(PrintParameters(inputs), '\n');
  for (const std::string& line : lines) {
    absl::StrAppend(&text, line.size() > kLongest ? line.substr(0, kLongest) + " ..." : line, "\n");
  }
  return text;
}

}  // namespace

Compared Compare(RandomCase random_case, uint64_t seed) {
  Compared compared;
  for (const auto& [name, value] : random_case.inputs) {
    compared.elements += std::get<Tensor>(value).size();
  }
  compared.program = random_case.Text();
  absl::StatusOr<ProgramDesc> desc = ParseProgramText(compared.program, "program.txt");
  CHECK(desc.ok()) << desc.status() << "\n" << compared.program;
  absl::StatusOr<Measured> measured = Measured{};
  if (!random_case.gradient.empty()) {
    measured = AppendGradient(&random_case, &*desc, seed);
    compared.program = PrintProgram(*desc);
    if (!measured.ok()) {
      compared.outcome = Outcome::kInvalid;
      compared.text = std::string(measured.status().message());
      return compared;
    }
  } else {
    if (random_case.fetches.empty()) {
      random_case.fetches = WrittenBy(*desc->blocks(0).ops().rbegin());
    }
    measured = Measured{*desc, CopyOf(random_case.inputs)};
  }
  absl::StatusOr<Program> created = Program::Create(*std::move(desc), "program.txt");
  CHECK(created.ok()) << created.status();
  const Program& program = *created;
  const auto expected =
      Interpret(program, random_case.fetches, Precision::kAsDeclared, random_case.inputs);
  const auto got = Execute(program, random_case.fetches, random_case.inputs, seed);
  if (!got.ok() || !expected.ok()) {
    compared.text = absl::StrCat("executor: ", got.status().ToString(),
                                 "\ninterpreter: ", expected.status().ToString());
    compared.outcome = !got.ok() && !expected.ok()           ? Outcome::kInvalid
                       : absl::IsUnimplemented(got.status()) ? Outcome::kRefused
                                                             : Outcome::kDiffers;
    if (compared.outcome == Outcome::kDiffers) compared.inputs = InputsText(random_case.inputs);
    return compared;
  }
  const bool is_exact = random_case.is_exact || RoundsOnce(program);
  std::optional<std::vector<double>> effects;
  for (size_t i = 0; i < random_case.fetches.size(); ++i) {
    const Tensor& a = (*got)[i];
    const Tensor& b = (*expected)[i];
    const std::string& name = random_case.fetches[i];
    if (a.dtype() != b.dtype() || PlannedDims(a) != PlannedDims(b) || a.lod() != b.lod()) {
      compared.outcome = Outcome::kDiffers;
      absl::StrAppend(&compared.text, name, ": type, dimensions or offsets differ: ",
                      DimsList({a.dims().begin(), a.dims().end()}), ", on the interpreter ",
                      DimsList({b.dims().begin(), b.dims().end()}), "\n");
      continue;
    }
    const Array x = *reference::ArrayOf(a);
    const Array y = *reference::ArrayOf(b);
    const double distance = Distance(x, y);
    if (distance == 0) continue;
    double bound = 0;
    if (!is_exact && reference::IsFloatingPoint(b.dtype())) {
      const auto roundings = static_cast<double>(random_case.summands + kOtherRoundings);
      bound =
          kSmallestNormal + roundings * kUnit * std::max(LargestFinite(y), random_case.magnitude);
      if (distance > bound) {
        if (!effects) {
          effects = EffectOfRounding(*std::move(measured), random_case, *expected, seed);
        }
        bound += roundings * (*effects)[i];
      }
    }
    // An infinite bound, from values beyond the range of floats, would accept anything.
    if (distance <= bound && std::isfinite(bound)) continue;
    compared.outcome = Outcome::kDiffers;
    absl::StrAppend(&compared.text, name, ": ", FarthestText(x, y), "; they may be ", bound,
                    " apart\n");
  }
  if (compared.outcome == Outcome::kDiffers) compared.inputs = InputsText(random_case.inputs);
  return compared;
}

}  // namespace fixpoint::random_cases
