#include "tests/random/programs/program_case.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/era.h"
#include "ops/infer.h"
#include "ops/op_traits.h"
#include "ops/verifier.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "runtime/executor/executor.h"
#include "tests/comparisons/network_forms.h"
#include "tests/comparisons/range_profile.h"
#include "tests/testing/backward.h"
#include "transpiler/lower/lower.h"
#include "transpiler/report/reduce.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint::random_cases {
namespace {

using executor::Executor;

constexpr float kRateOfTraining = 0.001f;

// A network that was quantized, in all forms.
struct QuantizedForms {
  QuantPlan plan;
  std::unique_ptr<NetworkForms> forms;
};

// The values of floats that no op reads, and those that are to be fetched beside them.
std::vector<std::string> FetchesOf(const ProgramDesc& forward, const RandomNetwork& network) {
  std::set<std::string> read;
  for (const OpDesc& op : forward.blocks(0).ops()) {
    for (const OpDesc::Var& slot : op.inputs()) {
      read.insert(slot.arguments().begin(), slot.arguments().end());
    }
  }
  const std::set<std::string> asked(network.fetches.begin(), network.fetches.end());
  std::vector<std::string> fetches;
  for (const OpDesc& op : forward.blocks(0).ops()) {
    if (op.outputs_size() == 0 || op.outputs(0).arguments_size() == 0) continue;
    const std::string& name = op.outputs(0).arguments(0);
    if (read.count(name) == 0 || asked.count(name) > 0) fetches.push_back(name);
  }
  return fetches;
}

// The sum of the means of `outputs`, its gradients and what moves the parameters by them.
absl::StatusOr<ProgramDesc> Training(ProgramDesc program, const std::vector<std::string>& outputs) {
  BlockDesc* const block = program.mutable_blocks(0);
  const Era era = EraOf(program.version().version(), program.has_op_version_map());
  const auto find = [block](absl::string_view name) -> const VarDesc* {
    for (const VarDesc& var : block->vars()) {
      if (var.name() == name) return &var;
    }
    return nullptr;
  };
  const auto append = [&](OpDesc op) -> absl::Status {
    ASSIGN_OR_RETURN(const auto inferred, InferOutputs(op, era, find));
    const Dims& dims = *inferred.front().dims;
    *block->add_vars() = MakeTensorVar(op.outputs(0).arguments(0), VarType::FP32, dims);
    *block->add_ops() = std::move(op);
    return absl::OkStatus();
  };
  std::vector<std::string> means;  // [1], as no backend writes another scalar
  for (const std::string& output : outputs) {
    means.push_back(absl::StrCat(output, ".mean"));
    RETURN_IF_ERROR(append(OpBuilder("reduce_mean")
                               .Input("X", output)
                               .Output("Out", absl::StrCat(output, ".kept_mean"))
                               .BoolAttr("reduce_all", true)
                               .BoolAttr("keep_dim", true)
                               .IntAttr("op_role", kForward)
                               .Build()));
    RETURN_IF_ERROR(append(OpBuilder("reshape")
                               .Input("X", absl::StrCat(output, ".kept_mean"))
                               .Output("Out", means.back())
                               .IntsAttr("shape", {1})
                               .IntAttr("op_role", kForward)
                               .Build()));
  }
  RETURN_IF_ERROR(append(OpBuilder("sum")
                             .Input("X", means)
                             .Output("Out", "loss")
                             .IntAttr("op_role", kForward | kLoss)
                             .Build()));
  VarDesc* const rate = block->add_vars();
  *rate = MakeTensorVar("learning_rate", VarType::FP32, {1});
  rate->set_persistable(true);
  AppendBackwardAndSgd("loss", &program);
  return program;
}

Tensor Inputs(const ProgramCase& tried, uint64_t step) {
  Tensor inputs = RandomImages({tried.network.fed_dims.begin(), tried.network.fed_dims.end()},
                               tried.inputs_seed + step);
  if (tried.is_on_grid) {
    for (float& number : inputs.mutable_data<float>()) number = std::round(number * 64) / 64;
  }
  return inputs;
}

absl::StatusOr<QuantizedForms> MakeQuantizedForms(const ProgramCase& tried) {
  const std::vector<std::string> fetches = FetchesOf(tried.forward, tried.network);
  Scope scope;
  for (const auto& [name, value] : tried.parameters) scope.Set(name, *Scope::CloneOf(value));
  const bool is_trained = tried.steps > 0;
  ProgramDesc desc = tried.forward;
  if (is_trained) {
    ASSIGN_OR_RETURN(desc, Training(std::move(desc), fetches));
    scope.Set("learning_rate", Tensor::FromValues<float>({1}, {kRateOfTraining}));
  }
  ASSIGN_OR_RETURN(Program program, Program::Create(std::move(desc), "program"));
  TranspileOptions options;
  options.config = tried.configuration.config;
  options.target = tried.configuration.target;
  RangeProfile profile;
  if (!is_trained) {
    const Tensor images = Inputs(tried, 0);
    ASSIGN_OR_RETURN(profile, ProfileOf(program, &scope, {tried.network.fed, &images}));
    options.profile = &profile;
  }
  ASSIGN_OR_RETURN(const TranspileResult transpiled, Transpile(&program, options));
  ASSIGN_OR_RETURN(const auto startup, Executor::Create(*transpiled.new_startup, &scope));
  RETURN_IF_ERROR(startup->Run({}, {}, 0).status());
  ASSIGN_OR_RETURN(const auto trained, Executor::Create(program, &scope));
  for (int step = 0; step < tried.steps; ++step) {
    const Tensor images = Inputs(tried, step);
    RETURN_IF_ERROR(trained->Run({{tried.network.fed, &images}}, {"loss"}, step).status());
  }
  QuantizedForms quantized;
  quantized.plan = transpiled.plan;
  ASSIGN_OR_RETURN(quantized.forms,
                   MakeForms(program, std::move(scope), tried.network.fed, fetches));
  return quantized;
}

// Another number of threads may give other sums of floats (docs/manual.md, on training).
bool MultipliesFloats(const Program& lowered) {
  const auto ops = lowered.block(0).ops();
  return std::any_of(ops.begin(), ops.end(), [](const Op& op) {
    return TraitsOf(op).product && !TraitsOf(op).has_epilogue;
  });
}

absl::StatusOr<std::vector<std::string>> DifferencesOf(NetworkForms& forms, const Tensor& images,
                                                       Fetching interpreted_with) {
  ASSIGN_OR_RETURN(const FormsComparison compared, CompareForms(forms, images));
  std::vector<std::string> differences = compared.differences;
  if (MultipliesFloats(forms.lowered.program)) {
    differences.erase(std::remove_if(differences.begin(), differences.end(),
                                     [](const std::string& line) {
                                       return absl::StartsWith(line, "two threads");
                                     }),
                      differences.end());
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> interpreted,
                   CompareRunsOfInterpreter(forms, images, interpreted_with));
  differences.insert(differences.end(), interpreted.begin(), interpreted.end());
  ASSIGN_OR_RETURN(const std::vector<std::string> deployed, CompareDeployedForms(forms, images));
  differences.insert(differences.end(), deployed.begin(), deployed.end());
  return differences;
}

// Which pair of programs gives something else, or what an error begins with.
std::string Symptom(const ComparedProgram& compared) {
  if (compared.outcome != ProgramOutcome::kDiffers) return "";
  return compared.text.substr(0, compared.text.find_first_of(",:"));
}

bool Verifies(const ProgramDesc& desc) {
  const auto program = Program::Create(desc, "program");
  if (!program.ok()) return false;
  const std::vector<Finding> findings = Verify(*program);
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.severity == Severity::kError; });
}

// By what a case is quantized, and what it is fed.
std::string Settings(const ProgramCase& tried) {
  return absl::StrCat("target: ", tried.configuration.target.name(), ", bias ",
                      Target::BiasType_Name(tried.configuration.target.bias()), ", requantization ",
                      Target::Requantization_Name(tried.configuration.target.requantization()), " ",
                      tried.configuration.target.requantization_multiplier_bits(), " bits, ",
                      tried.configuration.target.requantization_roundings(), " roundings",
                      "\nconfig: ", tried.configuration.config.ShortDebugString(),
                      "\nsteps of training: ", tried.steps, "\nfed: [",
                      absl::StrJoin(tried.network.fed_dims, ","), "]",
                      tried.is_on_grid ? " of multiples of 1 / 64" : "", "\n");
}

ProgramCase CopyOf(const ProgramCase& tried) {
  ProgramCase copy;
  copy.forward = tried.forward;
  for (const auto& [name, value] : tried.parameters)
    copy.parameters.Set(name, *Scope::CloneOf(value));
  copy.network = tried.network;
  copy.configuration = tried.configuration;
  copy.steps = tried.steps;
  copy.inputs_seed = tried.inputs_seed;
  copy.is_on_grid = tried.is_on_grid;
  return copy;
}

// Removes settings from a case's configuration, as long as `fails` holds.
void SimplifyConfiguration(const std::function<bool(const ProgramCase&)>& fails,
                           ProgramCase* tried) {
  const std::vector<std::function<void(ProgramCase*)>> simplifications = {
      [](ProgramCase* t) { t->steps = 0; },
      [](ProgramCase* t) { t->configuration.config.clear_rules(); },
      [](ProgramCase* t) { t->configuration.config.clear_also_quantize(); },
      [](ProgramCase* t) { t->configuration.config.clear_observe_outputs(); },
      [](ProgramCase* t) { t->configuration.config.clear_fc_weights(); },
      [](ProgramCase* t) { t->configuration.config.clear_weights(); },
      [](ProgramCase* t) { t->configuration.config.clear_activations(); },
      [](ProgramCase* t) { t->configuration.config.mutable_weights()->clear_bits(); },
      [](ProgramCase* t) { t->configuration.config.mutable_activations()->clear_bits(); },
      [](ProgramCase* t) { t->configuration.config.mutable_weights()->clear_rounding(); },
      [](ProgramCase* t) { t->configuration.config.mutable_activations()->clear_rounding(); },
      [](ProgramCase* t) { t->configuration.target.clear_requantization_roundings(); },
      [](ProgramCase* t) {
        t->configuration.target.clear_requantization();
        t->configuration.target.clear_requantization_multiplier_bits();
        t->configuration.target.clear_requantization_roundings();
      },
      [](ProgramCase* t) {
        // A multiplier and a shift come after it.
        if (t->configuration.target.requantization() == Target::FLOAT_MULTIPLIER) {
          t->configuration.target.clear_bias();
        }
      },
      [](ProgramCase* t) { t->network.fetches.clear(); },
      [](ProgramCase* t) { t->network.fed_dims[0] = 1; }};
  for (const auto& simplify : simplifications) {
    ProgramCase simpler = CopyOf(*tried);
    simplify(&simpler);
    if (fails(simpler)) *tried = std::move(simpler);
  }
}

}  // namespace

ProgramCase MakeProgramCase(uint64_t seed, uint64_t number) {
  constexpr uint64_t kSeeds = 1000003;
  CaseMaker c(seed * kSeeds + number);
  ProgramCase made;
  const bool is_trained = c.OneIn(2);
  made.steps = is_trained ? c.Between(1, 3) : 0;
  made.network = DrawNetwork(c, is_trained);
  made.configuration = DrawConfiguration(c, is_trained);
  // A bias of integers that is added to a product that is fetched too is added in float.
  if (made.configuration.target.bias() != Target::FLOAT) made.network.fetches.clear();
  made.inputs_seed = number;
  made.is_on_grid = c.OneIn(4);
  RandomCase drawn = c.Take();
  auto forward = ParseProgramText(drawn.Text(), "program");
  CHECK(forward.ok()) << forward.status() << "\n" << drawn.Text();
  made.forward = *std::move(forward);
  made.parameters = std::move(drawn.inputs);
  for (VarDesc& var : *made.forward.mutable_blocks(0)->mutable_vars()) {
    if (var.persistable()) var.set_is_parameter(true);
  }
  return made;
}

ComparedProgram CompareProgramForms(const ProgramCase& tried) {
  ComparedProgram compared;
  auto quantized = MakeQuantizedForms(tried);
  if (!quantized.ok()) {
    compared.text = absl::StrCat(quantized.status().message(), "\n", Settings(tried));
    compared.outcome =
        absl::IsInternal(quantized.status()) ? ProgramOutcome::kDiffers : ProgramOutcome::kRefused;
    return compared;
  }
  NetworkForms& forms = *quantized->forms;
  compared.coverage = CoverageOf(tried.forward, quantized->plan, forms.lowered);
  const Tensor images = Inputs(tried, /*step=*/1000);
  const bool adds_integers = tried.configuration.target.bias() != Target::FLOAT;
  const auto differences =
      DifferencesOf(forms, images, adds_integers ? Fetching::kAllInOneRun : Fetching::kOneByOne);
  if (!differences.ok() || !differences->empty()) {
    compared.outcome = ProgramOutcome::kDiffers;
    compared.text = differences.ok() ? absl::StrJoin(*differences, "\n")
                                     : absl::StrCat("error: ", differences.status().message());
  }
  return compared;
}

std::string ReducedReport(ProgramCase tried) {
  const std::string symptom = Symptom(CompareProgramForms(tried));
  CHECK(!symptom.empty());
  const auto fails = [&symptom](const ProgramCase& candidate) {
    return Symptom(CompareProgramForms(candidate)) == symptom;
  };
  SimplifyConfiguration(fails, &tried);
  ProgramCase candidate = CopyOf(tried);
  tried.forward = Reduce(tried.forward, [&](const ProgramDesc& forward) {
    candidate.forward = forward;
    return Verifies(forward) && fails(candidate);
  });
  SimplifyConfiguration(fails, &tried);
  std::string report = absl::StrCat(CompareProgramForms(tried).text, "\n", Settings(tried),
                                    PrintProgram(tried.forward));
  const auto quantized = MakeQuantizedForms(tried);
  if (quantized.ok()) {
    absl::StrAppend(&report, "lowered:\n", PrintProgram(quantized->forms->lowered.program.Proto()));
  }
  return report;
}

}  // namespace fixpoint::random_cases
