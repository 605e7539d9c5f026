#include "tests/comparisons/network_forms.h"

#include <google/protobuf/text_format.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/codes/integer_reasons.h"
#include "ops/op_schema.h"
#include "ops/state_codes.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "runtime/comparison.h"
#include "runtime/executor/constants.h"
#include "runtime/executor/cost.h"
#include "runtime/executor/executor.h"
#include "runtime/op_by_op.h"
#include "runtime/random.h"
#include "runtime/reference/interpreter.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/report/lowering_account.h"

namespace fixpoint {
namespace {

using executor::Executor;

absl::Status Train(const Network& network, Scope* scope) {
  ASSIGN_OR_RETURN(const auto startup, Executor::Create(network.startup, scope, {/*seed=*/1}));
  RETURN_IF_ERROR(startup->Run({}, {}, 0).status());
  ASSIGN_OR_RETURN(const auto trained, Executor::Create(network.main, scope));
  Tensor labels = *Tensor::Allocate(VarType::INT64, {network.image_dims[0], 1});
  for (int64_t i = 0; i < labels.size(); ++i) labels.mutable_data<int64_t>()[i] = i;
  for (uint32_t step = 0; step < 3; ++step) {
    const Tensor images = RandomImages(network.image_dims, step);
    const Feed feeds[] = {{network.image, &images}, {network.label, &labels}};
    RETURN_IF_ERROR(trained->Run(feeds, {network.loss}, step).status());
  }
  return absl::OkStatus();
}

// The multiplications and additions of codes.
double IntegerOperations(const executor::Plan& plan) {
  double operations = 0;
  for (const executor::Step& step : plan.steps) {
    const executor::Cost cost = executor::CostOf(plan, step);
    if (cost.reads_codes) operations += cost.operations;
  }
  return operations;
}

// What ops on integers write, and the steps between floats and codes. Not what an op makes of its
// sums by functions that the backends compute otherwise: the gates of recurrent layers.
std::set<std::string> WrittenByIntegers(const Program& lowered) {
  std::set<std::string> names;
  for (const WrittenTensor& tensor : WrittenTensors(lowered)) {
    if (absl::StartsWith(tensor.op->type(), "integer_") &&
        tensor.op->FindAttr(kStateBitsAttr) == nullptr) {
      names.insert(tensor.name);
    }
  }
  return names;
}

// The outputs of ops that are exact on both backends if they read the same: codes, and values that
// are moved or compared.
std::set<std::string> WrittenExactly(const Program& program) {
  static const auto* const comparing = new std::set<std::string>{"concat", "relu", "relu6"};
  std::set<std::string> names;
  for (const WrittenTensor& tensor : WrittenTensors(program)) {
    const Op& op = *tensor.op;
    const OpSchema& schema = *FindOpSchema(op.type());
    const bool is_largest = op.type() == "pool2d" && op.FindAttr("pooling_type")->s() == "max";
    if (schema.quant_op() == QuantOp::kQuantize || schema.KeepsRange(op.desc(), EraOf(program)) ||
        is_largest || comparing->count(op.type()) > 0) {
      names.insert(tensor.name);
    }
  }
  return names;
}

// Whether lowering rounds an activation differently.
bool RoundsAwayFromZero(const Program& portable) {
  for (const Op& op : portable.block(0).ops()) {
    const bool rounds = FindOpSchema(op.type())->quant_op() == QuantOp::kQuantize;
    if (rounds && IntAttr(op.desc(), "round_type").value_or(0) != 0) return true;
  }
  return false;
}

struct Judged {
  const std::set<std::string>* variables = nullptr;  // null for all
  bool ties = true;                                  // whether these count
  bool signs_of_zeros = true;
};

// "lowered, conv2d_0.tmp_0: 3 of 100 differ; element 7 is 0.5, simulated 0.25" of each variable
// that differs. `other`: what it is compared with.
void AppendDifferences(absl::string_view form, absl::string_view other,
                       const Comparison& comparison, const Judged& judged,
                       std::vector<std::string>* lines) {
  for (const ComparedVariable& variable : comparison.variables()) {
    const bool is_judged =
        judged.variables == nullptr || judged.variables->count(variable.name) > 0;
    int64_t different = variable.different;
    if (!judged.ties) different -= variable.ties;
    if (judged.signs_of_zeros) different += variable.other_zeros;
    if (different == 0 || !is_judged) continue;
    lines->push_back(absl::StrCat(form, ", ", variable.name, ": ", different, " of ",
                                  variable.elements, " differ"));
    if (!variable.first) continue;
    absl::StrAppend(&lines->back(), "; element ", variable.first->element, " is ",
                    variable.first->value, ", ", other, " ", variable.first->other);
  }
}

absl::StatusOr<Comparison> Compare(const RunnableProgram& program, const RunnableProgram& expected,
                                   const std::vector<Feed>& feeds) {
  ASSIGN_OR_RETURN(Comparison comparison, Comparison::Create(program, expected));
  RETURN_IF_ERROR(comparison.Run(feeds));
  return comparison;
}

}  // namespace

Tensor RandomImages(const std::vector<int64_t>& dims, uint64_t seed) {
  Tensor images = *Tensor::Allocate(VarType::FP32, dims);
  const RandomStream random(seed, 0, 0);
  for (int64_t i = 0; i < images.size(); ++i) {
    images.mutable_data<float>()[i] = static_cast<float>(random.Normal(i));
  }
  return images;
}

absl::StatusOr<std::unique_ptr<NetworkForms>> MakeForms(const Program& quantized, Scope trained,
                                                        const std::string& image,
                                                        const std::vector<std::string>& fetches) {
  auto forms = std::make_unique<NetworkForms>();
  forms->image = image;
  forms->scores = fetches.front();
  forms->fetches = fetches;
  forms->trained = std::move(trained);
  ASSIGN_OR_RETURN(forms->simulated, MakeTestProgram(quantized));
  FreezeOptions freeze;
  freeze.feeds = {image};
  freeze.fetches = fetches;
  ASSIGN_OR_RETURN(forms->portable, Freeze(quantized, forms->trained, freeze));
  ASSIGN_OR_RETURN(forms->lowered, Lower(forms->portable.program, forms->portable.scope));
  return forms;
}

absl::StatusOr<Scope> TrainQuantized(Network* network, const std::string& config,
                                     TranspileOptions options) {
  if (!google::protobuf::TextFormat::ParseFromString(config, &options.config)) {
    return absl::InvalidArgumentError(config);
  }
  if (!options.target) options.config.set_target("onednn_int8");
  options.startup = &network->startup;
  RETURN_IF_ERROR(Transpile(&network->main, options).status());
  Scope trained;
  RETURN_IF_ERROR(Train(*network, &trained));
  return trained;
}

absl::StatusOr<std::unique_ptr<NetworkForms>> TrainForms(Network network, const std::string& config,
                                                         TranspileOptions options) {
  ASSIGN_OR_RETURN(Scope trained, TrainQuantized(&network, config, std::move(options)));
  return MakeForms(network.main, std::move(trained), network.image, {network.scores});
}

absl::StatusOr<FormsComparison> CompareForms(NetworkForms& forms, const Tensor& images,
                                             Fetching fetching) {
  const bool in_one_run = fetching == Fetching::kAllInOneRun;
  const Program& portable = forms.portable.program;
  const Program& lowered = forms.lowered.program;
  ASSIGN_OR_RETURN(const auto simulation, Executor::Create(forms.simulated, &forms.trained));
  ASSIGN_OR_RETURN(const auto frozen, Executor::Create(portable, &forms.portable.scope));
  ASSIGN_OR_RETURN(const auto integers, Executor::Create(lowered, &forms.lowered.scope));
  const RunnableProgram expected = {&forms.simulated, simulation.get(), &forms.trained, in_one_run};
  const std::vector<Feed> feeds = {{forms.image, &images}};
  ASSIGN_OR_RETURN(
      const Comparison of_portable,
      Compare({&portable, frozen.get(), &forms.portable.scope, in_one_run}, expected, feeds));
  FormsComparison compared;
  ASSIGN_OR_RETURN(compared.differences, CompareRunsOfLowered(forms, images, fetching));
  AppendDifferences("portable", "simulated", of_portable, {}, &compared.differences);
  if (RoundsAwayFromZero(portable)) {
    const OpByOpProgram op_by_op = MakeOpByOp(lowered, portable);
    ASSIGN_OR_RETURN(const auto given, Executor::Create(op_by_op.program, &forms.lowered.scope));
    ASSIGN_OR_RETURN(
        const Comparison of_lowered,
        Compare({&op_by_op.program, given.get(), &forms.lowered.scope, in_one_run, op_by_op.given},
                {&portable, frozen.get(), &forms.portable.scope, in_one_run}, feeds));
    std::set<std::string> judged = WrittenByIntegers(lowered);
    judged.merge(WrittenExactly(lowered));
    AppendDifferences("lowered, op by op", "portable", of_lowered, {&judged, /*ties=*/false},
                      &compared.differences);
    return compared;
  }
  ASSIGN_OR_RETURN(
      const Comparison of_lowered,
      Compare({&lowered, integers.get(), &forms.lowered.scope, in_one_run}, expected, feeds));
  AppendDifferences("lowered", "simulated", of_lowered, {}, &compared.differences);
  for (const ComparedVariable& variable : of_lowered.variables()) {
    compared.variables.insert(variable.name);
  }
  return compared;
}

absl::StatusOr<std::vector<std::string>> CompareRunsOfLowered(NetworkForms& forms,
                                                              const Tensor& images,
                                                              Fetching fetching) {
  const bool in_one_run = fetching == Fetching::kAllInOneRun;
  const Program& lowered = forms.lowered.program;
  executor::ExecutorOptions two_threads;
  two_threads.threads = 2;
  const OpByOpProgram op_by_op = MakeOpByOp(lowered, lowered);
  ASSIGN_OR_RETURN(const auto integers, Executor::Create(lowered, &forms.lowered.scope));
  ASSIGN_OR_RETURN(const auto threads,
                   Executor::Create(lowered, &forms.lowered.scope, two_threads));
  ASSIGN_OR_RETURN(auto interpreter,
                   reference::Interpreter::Create(op_by_op.program, &forms.lowered.scope));
  const RunnableProgram expected = {&lowered, integers.get(), &forms.lowered.scope, in_one_run};
  const std::vector<Feed> feeds = {{forms.image, &images}};
  ASSIGN_OR_RETURN(
      const Comparison of_threads,
      Compare({&lowered, threads.get(), &forms.lowered.scope, in_one_run}, expected, feeds));
  ASSIGN_OR_RETURN(const Comparison of_interpreter,
                   Compare({&op_by_op.program, &interpreter, &forms.lowered.scope,
                            /*in_one_run=*/true, op_by_op.given},
                           expected, feeds));
  std::vector<std::string> differences;
  const std::set<std::string> judged = WrittenByIntegers(lowered);
  AppendDifferences("two threads", "one thread", of_threads, {}, &differences);
  AppendDifferences("interpreter", "executor", of_interpreter, {&judged}, &differences);
  return differences;
}

absl::StatusOr<std::vector<std::string>> CompareRunsOfInterpreter(NetworkForms& forms,
                                                                  const Tensor& images,
                                                                  Fetching fetching) {
  const bool in_one_run = fetching == Fetching::kAllInOneRun;
  const std::vector<Feed> feeds = {{forms.image, &images}};
  std::vector<std::string> differences;
  const auto compare_with_executor = [&](const std::string& form, const Program& program,
                                         Scope* scope) -> absl::Status {
    const OpByOpProgram op_by_op = MakeOpByOp(program, program);
    ASSIGN_OR_RETURN(const auto executor, Executor::Create(program, scope));
    ASSIGN_OR_RETURN(auto given, reference::Interpreter::Create(op_by_op.program, scope));
    ASSIGN_OR_RETURN(const Comparison compared,
                     Compare({&op_by_op.program, &given, scope, true, op_by_op.given},
                             {&program, executor.get(), scope, in_one_run}, feeds));
    const std::set<std::string> exact = WrittenExactly(program);
    AppendDifferences(absl::StrCat(form, " on the interpreter"), "executor", compared,
                      {&exact, /*ties=*/true, /*signs_of_zeros=*/false}, &differences);
    return absl::OkStatus();
  };
  const Program& portable = forms.portable.program;
  RETURN_IF_ERROR(compare_with_executor("simulated", forms.simulated, &forms.trained));
  RETURN_IF_ERROR(compare_with_executor("portable", portable, &forms.portable.scope));
  ASSIGN_OR_RETURN(auto simulation,
                   reference::Interpreter::Create(forms.simulated, &forms.trained));
  ASSIGN_OR_RETURN(auto frozen, reference::Interpreter::Create(portable, &forms.portable.scope));
  ASSIGN_OR_RETURN(const Comparison of_portable,
                   Compare({&portable, &frozen, &forms.portable.scope, true},
                           {&forms.simulated, &simulation, &forms.trained, true}, feeds));
  AppendDifferences("portable, both on the interpreter", "simulated", of_portable,
                    {nullptr, /*ties=*/true, /*signs_of_zeros=*/false}, &differences);
  return differences;
}

absl::StatusOr<std::vector<std::string>> CompareDeployedForms(NetworkForms& forms,
                                                              const Tensor& images) {
  const std::vector<Feed> feeds = {{forms.image, &images}};
  ASSIGN_OR_RETURN(const auto simulation, Executor::Create(forms.simulated, &forms.trained));
  ASSIGN_OR_RETURN(const std::vector<Tensor> expected, simulation->Run(feeds, forms.fetches, 0));
  std::vector<std::string> differences;
  // Returns how many operations are on integers.
  const auto compare = [&](const std::string& form, const Program& program,
                           Scope* scope) -> absl::StatusOr<double> {
    executor::ConstantStore constants;
    executor::ExecutorOptions options;
    options.constants = &constants;
    ASSIGN_OR_RETURN(const auto executor, Executor::Create(program, scope, options));
    ASSIGN_OR_RETURN(const std::vector<Tensor> got, executor->Run(feeds, forms.fetches, 0));
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i].bytes() == expected[i].bytes()) continue;
      differences.push_back(absl::StrCat(form, " as deployed, ", forms.fetches[i], " differs"));
    }
    ASSIGN_OR_RETURN(const executor::Plan* const plan, executor->PlanOf(feeds, forms.fetches));
    return IntegerOperations(*plan);
  };
  ASSIGN_OR_RETURN(const double planned,
                   compare("portable", forms.portable.program, &forms.portable.scope));
  if (RoundsAwayFromZero(forms.portable.program)) return differences;
  ASSIGN_OR_RETURN(const double lowered,
                   compare("lowered", forms.lowered.program, &forms.lowered.scope));
  if (planned != lowered) {
    differences.push_back(absl::StrCat("portable as deployed, ", planned,
                                       " operations on integers differ from lowered, ", lowered));
  }
  return differences;
}

absl::StatusOr<std::vector<float>> ScoresOf(const NetworkForms& forms, const Program& form,
                                            Scope* scope, const Tensor& images) {
  ASSIGN_OR_RETURN(const auto executor, Executor::Create(form, scope));
  ASSIGN_OR_RETURN(const std::vector<Tensor> fetched,
                   executor->Run({{forms.image, &images}}, {forms.scores}, 0));
  const absl::Span<const float> scores = fetched.front().data<float>();
  return std::vector<float>(scores.begin(), scores.end());
}

std::vector<std::string> NotOnIntegers(const LoweredModel& lowered,
                                       const std::set<std::string>& op_types) {
  std::vector<std::string> lines;
  for (const LoweredType& type : CountByType(lowered.ops)) {
    if (op_types.count(type.op_type) == 0) continue;
    for (const auto& [reason, count] : type.ops) {
      if (reason == IntegerReason::kOnIntegers || reason == IntegerReason::kInEpilogue) continue;
      lines.push_back(absl::StrCat(type.op_type, ": ", count, " ", IntegerReasonCode(reason)));
    }
  }
  return lines;
}

}  // namespace fixpoint
