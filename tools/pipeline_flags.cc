#include "tools/pipeline_flags.h"

#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "tools/command_line.h"
#include "transpiler/freeze/freeze_passes.h"
#include "transpiler/lower/lower_passes.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/prepare/prepare_passes.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

using Names = std::vector<std::string>;

bool Has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A pass that a flag names.
absl::Status CheckPass(absl::string_view flag, const std::string& name, const Names& pipeline) {
  if (Has(pipeline, name)) return absl::OkStatus();
  Names known;
  for (const PassTable& passes : {TrainPasses(), PreparePasses(), FreezePasses(), LowerPasses()}) {
    for (const auto& pass : passes.all()) known.push_back(std::string(pass->name()));
  }
  if (Has(known, name)) {
    return UsageError(absl::StrCat("--", flag, "=", name,
                                   ": the pipeline does not run this pass; it runs ",
                                   absl::StrJoin(pipeline, ", ")));
  }
  const std::string nearest = DidYouMean(name, known);
  return UsageError(absl::StrCat(
      "--", flag, "=", name, ": there is no such pass",
      nearest.empty() ? absl::StrCat("; the pipeline runs ", absl::StrJoin(pipeline, ", "))
                      : nearest));
}

}  // namespace

absl::StatusOr<PipelineOptions> MakePipelineOptions(const PipelineFlags& flags,
                                                    absl::string_view pipeline) {
  PipelineOptions options;
  Names run = SplitNames(pipeline);
  if (!flags.stop_after.empty()) {
    RETURN_IF_ERROR(CheckPass("stop_after", flags.stop_after, run));
    run.erase(std::find(run.begin(), run.end(), flags.stop_after) + 1, run.end());
  }
  options.stop_after = flags.stop_after;
  const Names printed = SplitNames(flags.print_after);
  if (printed.empty()) return options;
  for (const std::string& name : printed) {
    if (name != "all") RETURN_IF_ERROR(CheckPass("print_after", name, run));
  }
  options.after_pass = [printed](const Pass& pass, Program& program, double) {
    if (!Has(printed, "all") && !Has(printed, std::string(pass.name()))) return;
    std::cerr << "# after " << pass.name() << "\n" << PrintProgram(program.Proto());
  };
  return options;
}

}  // namespace fixpoint
