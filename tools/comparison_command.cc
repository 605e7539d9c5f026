#include "tools/comparison_command.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "proto/config/run_report.pb.h"
#include "proto/file/atomic_file.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "runtime/backend.h"
#include "runtime/comparison.h"
#include "runtime/data/batcher.h"
#include "runtime/data/data_source.h"
#include "runtime/data/sample_set.h"
#include "runtime/op_by_op.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "runtime/training/evaluator.h"
#include "runtime/training/fed_batches.h"
#include "tools/comparison_report.h"
#include "tools/named_program.h"
#include "tools/network_ends.h"
#include "tools/outputs.h"
#include "tools/staged_report.h"

namespace fixpoint {
namespace {

// A program that is ready to run. It must not move, because the backend points into it.
class Model {
 public:
  Model(const ComparedFile& file, Program program, std::optional<OpByOpProgram> op_by_op,
        Scope scope)
      : file_(file),
        program_(std::move(program)),
        op_by_op_(std::move(op_by_op)),
        scope_(std::move(scope)) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // `given_by`: the program whose values its ops are given; null: they read their own.
  static absl::StatusOr<std::unique_ptr<Model>> Load(const ComparedFile& file,
                                                     absl::string_view params_flag,
                                                     const BackendOptions& options,
                                                     const Program* given_by) {
    ASSIGN_OR_RETURN(NamedProgram named, LoadNamedProgram(file.program));
    const absl::Status does_not_train = CheckDoesNotTrain(named.program);
    if (!does_not_train.ok()) return InFile(file.program, does_not_train);
    RETURN_IF_ERROR(CheckEndsAreDeclared(named.program, file.program));
    absl::StatusOr<Scope> scope = LoadScope(named.program, file.program, params_flag, file.params);
    if (!scope.ok() && !file.has_own_params) {
      return absl::Status(scope.status().code(),
                          absl::StrCat(scope.status().message(), "; --", params_flag,
                                       "=WHERE gives the parameters of ", file.program));
    }
    RETURN_IF_ERROR(scope.status());
    std::optional<OpByOpProgram> op_by_op;
    if (given_by != nullptr) op_by_op = MakeOpByOp(named.program, *given_by);
    auto model = std::make_unique<Model>(file, std::move(named.program), std::move(op_by_op),
                                         *std::move(scope));
    absl::StatusOr<std::unique_ptr<Backend>> backend =
        MakeBackend(file.backend, model->what_runs(), &model->scope_, options);
    if (!backend.ok()) return InFile(file.program, backend.status());
    model->backend_ = *std::move(backend);
    return model;
  }

  const std::string& path() const { return file_.program; }
  const Scope& scope() const { return scope_; }
  // As it was loaded.
  const Program& program() const { return program_; }
  const Variable* Find(const std::string& name) const {
    return program_.Find(program_.block(0), name);
  }
  // The reference interpreter runs ops one by one, whatever is fetched.
  bool runs_all() const { return file_.backend == BackendKind::kReference; }
  RunnableProgram runnable() {
    return {&what_runs(), backend_.get(), &scope_, runs_all(),
            op_by_op_ ? op_by_op_->given : std::vector<GivenTensor>()};
  }

 private:
  const Program& what_runs() const { return op_by_op_ ? op_by_op_->program : program_; }

  const ComparedFile file_;
  const Program program_;
  const std::optional<OpByOpProgram> op_by_op_;
  Scope scope_;
  std::unique_ptr<Backend> backend_;
};

absl::Status CheckFeedsOf(const ComparisonCommand& command, const Model& model,
                          const Comparison& comparison) {
  std::vector<std::string> names;
  for (const ComparedVariable& variable : comparison.variables()) names.push_back(variable.name);
  return CheckFeeds(model.program(), model.path(), command.feeds, names, model.runs_all());
}

absl::Status CompareOnArrays(const ComparisonCommand& command, const Model& model,
                             const Model& other, Comparison* comparison) {
  std::vector<Tensor> fed;
  for (const NamedFile& feed : command.feeds) {
    const Model& fed_model =
        model.Find(feed.name) == nullptr && other.Find(feed.name) != nullptr ? other : model;
    ASSIGN_OR_RETURN(const Variable* variable,
                     FindForFlag("feeds", feed.name, fed_model.program(), fed_model.path(),
                                 FedVariables(fed_model.program())));
    ASSIGN_OR_RETURN(Tensor tensor, LoadFeed(feed, *variable));
    fed.push_back(std::move(tensor));
  }
  for (const Model* fed_model : {&model, &other}) {
    RETURN_IF_ERROR(CheckFeedsOf(command, *fed_model, *comparison));
  }
  std::vector<Feed> feeds;
  for (size_t i = 0; i < fed.size(); ++i) feeds.push_back({command.feeds[i].name, &fed[i]});
  return comparison->Run(feeds);
}

// What both programs are fed with a batch. A variable of both is fed what the first one declares.
std::vector<Feed> FeedsOfBoth(std::vector<Feed> feeds, const std::vector<Feed>& others) {
  for (const Feed& other : others) {
    const bool is_fed = std::any_of(feeds.begin(), feeds.end(),
                                    [&](const Feed& feed) { return feed.name == other.name; });
    if (!is_fed) feeds.push_back(other);
  }
  return feeds;
}

absl::Status CompareOnData(const ComparisonCommand& command, const Model& model, const Model& other,
                           Comparison* comparison) {
  ASSIGN_OR_RETURN(const NetworkVariables variables,
                   FindVariablesForFlags(model.program(), model.path(), command.variables,
                                         InputsOf(*command.data)));
  NetworkVariables named;
  named.images = variables.images;
  ASSIGN_OR_RETURN(
      const NetworkVariables others,
      FindVariablesForFlags(other.program(), other.path(), named, InputsOf(*command.data)));

  ASSIGN_OR_RETURN(const std::unique_ptr<SampleSet> set, OpenData(*command.data, DataPart::kTest));
  BatchOptions options;
  options.batch_size = command.batch_size;
  options.shuffle = false;
  ASSIGN_OR_RETURN(FedBatches batches,
                   FedBatches::Create(model.program(), set.get(), variables, options));
  ASSIGN_OR_RETURN(FedBatches other_batches,
                   FedBatches::Create(other.program(), set.get(), others, options));
  const int64_t count = std::min(command.batches, batches.batcher().BatchesPerEpoch());
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const Batch batch, batches.batcher().Next());
    ASSIGN_OR_RETURN(const Batch other_batch, other_batches.batcher().Next());
    RETURN_IF_ERROR(
        comparison->Run(FeedsOfBoth(batches.FeedsOf(batch), other_batches.FeedsOf(other_batch))));
  }
  return absl::OkStatus();
}

RunReport MakeReport(const ComparisonCommand& command, const Model& model, const Model& other,
                     const Comparison& comparison) {
  RunReport report;
  report.set_tool("infer --compare");
  report.set_program(NameInReport(model.path()));
  report.set_other(NameInReport(other.path()));
  AddSetting("backend", std::string(BackendName(command.program.backend)), &report);
  AddSetting("its backend", std::string(BackendName(command.other.backend)), &report);
  if (command.op_by_op)
    AddSetting("op by op", "each op is given the inputs that the other computed", &report);
  if (command.data) {
    AddSetting("data", NameInReport(*command.data), &report);
    AddSetting("batches", absl::StrCat(command.batches), &report);
    AddSetting("batch size", absl::StrCat(command.batch_size), &report);
  }
  AddProgram(model.program(), model.scope(), *command.quantizers, &report);
  AddComparison(report.program(), report.other(), comparison, &report);
  return report;
}

}  // namespace

absl::StatusOr<ExitCode> RunComparisonCommand(const ComparisonCommand& command) {
  std::vector<std::string> inputs = {command.program.program, command.other.program};
  for (const NamedFile& feed : command.feeds) inputs.push_back(feed.file);
  RETURN_IF_ERROR(CheckInputs(inputs));
  Outputs outputs(inputs);
  if (!command.report.empty()) {
    RETURN_IF_ERROR(outputs.Claim(command.report));
    RETURN_IF_ERROR(AtomicFile::Create(command.report).status());
  }
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Model> other,
      Model::Load(command.other, "compare_params", command.backend_options, /*given_by=*/nullptr));
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                   Model::Load(command.program, "params", command.backend_options,
                               command.op_by_op ? &other->program() : nullptr));
  ASSIGN_OR_RETURN(Comparison comparison, Comparison::Create(model->runnable(), other->runnable()));
  RETURN_IF_ERROR(command.data ? CompareOnData(command, *model, *other, &comparison)
                               : CompareOnArrays(command, *model, *other, &comparison));
  if (!command.report.empty()) {
    RETURN_IF_ERROR(
        StageReport(MakeReport(command, *model, *other, comparison), command.report, &outputs));
    RETURN_IF_ERROR(outputs.Commit());
  }
  RETURN_IF_ERROR(WriteReport(command.json
                                  ? ComparisonJson(model->path(), other->path(), comparison)
                                  : ComparisonText(model->path(), other->path(), comparison),
                              outputs.to_standard_output()));
  return comparison.different() == 0 ? kDone : kAnswerIsNo;
}

}  // namespace fixpoint
