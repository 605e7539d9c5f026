#include "transpiler/pipeline/pipeline.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ops/verifier.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/edit_verifier.h"
#include "transpiler/pipeline/input_error.h"
#include "transpiler/pipeline/pass.h"

namespace fixpoint {
namespace {

// Whether a pass could establish the fact; otherwise it is given or not.
bool IsEstablished(const std::string& fact, const PassTable& passes) {
  return std::any_of(passes.all().begin(), passes.all().end(),
                     [&fact](const std::unique_ptr<Pass>& pass) {
                       const std::vector<std::string> facts = pass->Establishes();
                       return std::find(facts.begin(), facts.end(), fact) != facts.end();
                     });
}

}  // namespace

absl::StatusOr<Pipeline> Pipeline::Parse(absl::string_view text, const PassTable& passes,
                                         const std::vector<std::string>& given) {
  Pipeline pipeline;
  std::set<std::string> established(given.begin(), given.end());
  std::map<std::string, absl::string_view> consumed;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const absl::string_view name = absl::StripAsciiWhitespace(part);
    const Pass* pass = passes.Find(name);
    if (pass == nullptr) {
      const std::string known =
          absl::StrJoin(passes.all(), ", ", [](std::string* out, const std::unique_ptr<Pass>& p) {
            absl::StrAppend(out, std::string(p->name()));
          });
      return absl::InvalidArgumentError(
          absl::StrCat("pipeline: there is no pass \"", name, "\"; there are ", known));
    }
    for (const std::string& fact : pass->Requires()) {
      if (established.count(fact) > 0) continue;
      const auto by = consumed.find(fact);
      return absl::InvalidArgumentError(absl::StrCat(
          "pipeline: ", name, " requires \"", fact, "\", which ",
          by != consumed.end()          ? absl::StrCat("does not hold any more after ", by->second)
          : IsEstablished(fact, passes) ? "no pass before it establishes"
                                        : "this pipeline is not given"));
    }
    for (const std::string& fact : pass->ComesBefore()) {
      if (established.count(fact) == 0 && consumed.count(fact) == 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "pipeline: ", name, " comes before whatever establishes \"", fact, "\"; put it earlier"));
    }
    for (const std::string& fact : pass->Consumes()) {
      established.erase(fact);
      consumed[fact] = pass->name();
    }
    for (const std::string& fact : pass->Establishes()) established.insert(fact);
    pipeline.passes_.push_back(pass);
  }
  if (pipeline.passes_.empty()) {
    return absl::InvalidArgumentError("pipeline: it names no pass");
  }
  return pipeline;
}

std::string Pipeline::ToText() const {
  return absl::StrJoin(passes_, ",", [](std::string* out, const Pass* pass) {
    absl::StrAppend(out, std::string(pass->name()));
  });
}

absl::Status Pipeline::Run(Program& program, PassContext& context,
                           const PipelineOptions& options) const {
  program.ForgetEdits();
  Program* const startup = context.startup_program();
  if (startup != nullptr) startup->ForgetEdits();
  const absl::Status status = RunPasses(program, context, options);
  if (status.ok()) return status;
  program.RevertEdits();
  if (startup != nullptr) startup->RevertEdits();
  if (status.code() != absl::StatusCode::kInternal) return status;
  // It is a defect of ours if the programs were right.
  RETURN_IF_ERROR(CheckVerifies(program));
  if (startup != nullptr) RETURN_IF_ERROR(CheckVerifies(*startup));
  return status;
}

absl::Status Pipeline::RunPasses(Program& program, PassContext& context,
                                 const PipelineOptions& options) const {
  int64_t verified_edits = program.edit_count();
  EditVerifier verifier;
  for (const Pass* pass : passes_) {
    const auto start = std::chrono::steady_clock::now();
    if (absl::Status status = pass->Run(program, context); !status.ok()) {
      const std::string file = program.name().empty() ? "" : absl::StrCat(program.name(), ": ");
      const bool has_file = IsInputError(status) || absl::StartsWith(status.message(), file);
      return absl::Status(status.code(),
                          absl::StrCat(has_file ? "" : file, std::string(status.message()), " [in ",
                                       pass->name(), "]"));
    }
    if (options.verify && program.edit_count() != verified_edits) {
      verified_edits = program.edit_count();
      const std::vector<Finding> errors = verifier.NewErrors(program);
      if (!errors.empty()) {
        return absl::InternalError(
            absl::StrCat(FindingsText(program, errors), " [after ", pass->name(), "]"));
      }
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (options.after_pass) options.after_pass(*pass, program, seconds.count());
    if (pass->name() == options.stop_after) return absl::OkStatus();
  }
  return options.check_at_end ? options.check_at_end() : absl::OkStatus();
}

}  // namespace fixpoint
