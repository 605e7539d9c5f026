// transpile with a quantizer and a pass of one's own:
//
//   transpile PROGRAM CONFIG OUTPUT STARTUP_OUTPUT

#include <iostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drop_callstacks.h"
#include "moving_average_sigma.h"
#include "proto/base/status_macros.h"
#include "proto/file/program_file.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "transpiler/report/account.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_passes.h"

namespace {

absl::Status Transpile(const std::string& input, const std::string& config,
                       const std::string& output, const std::string& startup_output) {
  fixpoint::QuantizerTable quantizers;
  RETURN_IF_ERROR(quantizers.Add(out_of_tree::MakeMovingAverageSigma()));
  fixpoint::PassTable passes = fixpoint::TrainPasses();
  RETURN_IF_ERROR(passes.Add(out_of_tree::MakeDropCallstacks()));

  fixpoint::TranspileOptions options;
  options.quantizers = &quantizers;
  options.passes = &passes;
  options.pipeline = absl::StrCat("drop_callstacks,", fixpoint::kTrainPipeline);
  RETURN_IF_ERROR(fixpoint::LoadTextMessage(config, &options.config));

  ASSIGN_OR_RETURN(fixpoint::LoadedProgram loaded, fixpoint::LoadProgram(input));
  ASSIGN_OR_RETURN(fixpoint::Program program,
                   fixpoint::Program::Create(std::move(loaded.program), input));
  ASSIGN_OR_RETURN(const fixpoint::TranspileResult result, fixpoint::Transpile(&program, options));
  if (!result.left_alone.empty()) return absl::FailedPreconditionError(result.left_alone);
  std::cout << fixpoint::AccountTable(fixpoint::MakeAccount(result.plan));
  RETURN_IF_ERROR(fixpoint::SaveProgram(program.Proto(), loaded.format, output));
  return fixpoint::SaveProgram(result.new_startup->Proto(), loaded.format, startup_output);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: transpile PROGRAM CONFIG OUTPUT STARTUP_OUTPUT\n";
    return 2;
  }
  const absl::Status status = Transpile(argv[1], argv[2], argv[3], argv[4]);
  if (status.ok()) return 0;
  std::cerr << status.message() << "\n";
  return 1;
}
