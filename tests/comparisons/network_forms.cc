#include "tests/comparisons/network_forms.h"

#include <google/protobuf/text_format.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/comparison.h"
#include "runtime/executor/executor.h"
#include "runtime/op_by_op.h"
#include "runtime/random.h"
#include "runtime/reference/interpreter.h"
#include "transpiler/lowering/account.h"
#include "transpiler/lowering/reasons.h"
#include "transpiler/test_program.h"

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

// What ops on integers write, and the steps between numbers and codes.
std::set<std::string> WrittenByIntegers(const Program& lowered) {
  std::set<std::string> names;
  for (const WrittenTensor& tensor : WrittenTensors(lowered)) {
    if (absl::StartsWith(tensor.op->type(), "integer_")) names.insert(tensor.name);
  }
  return names;
}

class FormsComparer {
 public:
  FormsComparer(const std::vector<Feed>& feeds, const RunnableProgram& expected)
      : feeds_(feeds), expected_(expected) {}

  absl::Status Compare(absl::string_view form, const RunnableProgram& program) {
    return Compare(form, program, expected_, nullptr);
  }

  // `judged`: of which variables; null: of all.
  absl::Status Compare(absl::string_view form, const RunnableProgram& program,
                       const RunnableProgram& expected, const std::set<std::string>* judged) {
    ASSIGN_OR_RETURN(Comparison comparison, Comparison::Create(program, expected));
    RETURN_IF_ERROR(comparison.Run(feeds_));
    if (judged == nullptr) compared_.variables.clear();
    for (const ComparedVariable& variable : comparison.variables()) {
      if (judged == nullptr) compared_.variables.insert(variable.name);
      if (variable.different == 0 || (judged != nullptr && judged->count(variable.name) == 0)) {
        continue;
      }
      compared_.differences.push_back(absl::StrCat(form, ", ", variable.name, ": ",
                                                   variable.different, " of ", variable.elements,
                                                   " differ"));
    }
    return absl::OkStatus();
  }

  FormsComparison TakeResult() { return std::move(compared_); }

 private:
  const std::vector<Feed> feeds_;
  const RunnableProgram expected_;
  FormsComparison compared_;
};

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
                                                        const std::string& scores) {
  auto forms = std::make_unique<NetworkForms>();
  forms->image = image;
  forms->scores = scores;
  forms->trained = std::move(trained);
  ASSIGN_OR_RETURN(forms->simulated, MakeTestProgram(quantized));
  FreezeOptions freeze;
  freeze.feeds = {image};
  freeze.fetches = {scores};
  ASSIGN_OR_RETURN(forms->portable, Freeze(quantized, forms->trained, freeze));
  ASSIGN_OR_RETURN(forms->lowered, Lower(forms->portable.program, forms->portable.scope));
  return forms;
}

absl::StatusOr<std::unique_ptr<NetworkForms>> TrainForms(Network network, const std::string& config,
                                                         TranspileOptions options) {
  if (!google::protobuf::TextFormat::ParseFromString(config, &options.config)) {
    return absl::InvalidArgumentError(config);
  }
  if (!options.target) options.config.set_target("onednn_int8");
  options.startup = &network.startup;
  RETURN_IF_ERROR(Transpile(&network.main, options).status());
  Scope trained;
  RETURN_IF_ERROR(Train(network, &trained));
  return MakeForms(network.main, std::move(trained), network.image, network.scores);
}

absl::StatusOr<FormsComparison> CompareForms(NetworkForms& forms, const Tensor& images) {
  const Program& lowered = forms.lowered.program;
  ASSIGN_OR_RETURN(const auto simulation, Executor::Create(forms.simulated, &forms.trained));
  ASSIGN_OR_RETURN(const auto frozen,
                   Executor::Create(forms.portable.program, &forms.portable.scope));
  ASSIGN_OR_RETURN(const auto integers, Executor::Create(lowered, &forms.lowered.scope));
  executor::ExecutorOptions two_threads;
  two_threads.threads = 2;
  ASSIGN_OR_RETURN(const auto threads,
                   Executor::Create(lowered, &forms.lowered.scope, two_threads));
  const OpByOpProgram op_by_op = MakeOpByOp(lowered, lowered);
  ASSIGN_OR_RETURN(auto interpreter,
                   reference::Interpreter::Create(op_by_op.program, &forms.lowered.scope));

  FormsComparer comparer({{forms.image, &images}}, {&forms.simulated, simulation.get()});
  RETURN_IF_ERROR(comparer.Compare("portable", {&forms.portable.program, frozen.get()}));
  RETURN_IF_ERROR(comparer.Compare("lowered", {&lowered, integers.get()}));
  RETURN_IF_ERROR(comparer.Compare("lowered on two threads", {&lowered, threads.get()}));
  const std::set<std::string> judged = WrittenByIntegers(lowered);
  RETURN_IF_ERROR(comparer.Compare(
      "interpreter", {&op_by_op.program, &interpreter, /*in_one_run=*/true, op_by_op.given},
      {&lowered, integers.get()}, &judged));
  return comparer.TakeResult();
}

std::vector<std::string> NotOnIntegers(const LoweredModel& lowered,
                                       const std::set<std::string>& op_types) {
  std::vector<std::string> lines;
  for (const LoweredType& type : CountByType(lowered.ops)) {
    if (op_types.count(type.op_type) == 0) continue;
    for (const auto& [reason, count] : type.ops) {
      if (reason == LoweringReason::kOnIntegers || reason == LoweringReason::kInEpilogue) continue;
      lines.push_back(absl::StrCat(type.op_type, ": ", count, " ", LoweringReasonCode(reason)));
    }
  }
  return lines;
}

}  // namespace fixpoint
