// Trains the three networks on drawn text, and writes what `ocr` reads. examples/ocr/trained is
// what it wrote.
//
//   ./bazelw run --config=opt //examples/ocr:train_ocr -- /tmp/ocr

#include <gflags/gflags.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/ocr/font.h"
#include "examples/ocr/networks.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "runtime/inference_model.h"
#include "tools/command_line.h"

DEFINE_int64(steps, 0, "Steps of each network; 0: as many as it needs.");

namespace fixpoint {
namespace ocr {
namespace {

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? CannotBeWritten(folder, error) : absl::OkStatus();
}

absl::Status WriteNetwork(NetworkPlan plan, const std::string& folder) {
  if (FLAGS_steps > 0) plan.steps = FLAGS_steps;
  ASSIGN_OR_RETURN(
      const InferenceModel model, TrainNetwork(plan, [&plan](int64_t step, double loss) {
        absl::PrintF("%s, step %d of %d: loss %.4f\n", plan.name, step, plan.steps, loss);
      }));
  const std::string network = absl::StrCat(folder, "/", plan.name);
  RETURN_IF_ERROR(MakeFolder(network));
  return SaveInferenceModel(model.program.Proto(), model.parameters, network + "/inference");
}

absl::StatusOr<ExitCode> Run(const CommandLine& command_line) {
  if (command_line.arguments.size() != 1) return UsageError("want one folder");
  RETURN_IF_ERROR(CheckAtLeast("steps", FLAGS_steps, 0));
  const std::string& folder = command_line.arguments[0];
  RETURN_IF_ERROR(WriteNetwork(DetectionPlan(), folder));
  RETURN_IF_ERROR(WriteNetwork(DirectionPlan(), folder));
  RETURN_IF_ERROR(WriteNetwork(RecognitionPlan(), folder));
  std::string dictionary;
  for (const Glyph& glyph : kFont)
    dictionary += absl::StrCat(std::string(1, glyph.character), "\n");
  RETURN_IF_ERROR(WriteFileAtomically(folder + "/dictionary.txt", dictionary));
  return kDone;
}

}  // namespace
}  // namespace ocr
}  // namespace fixpoint

int main(int argc, char** argv) {
  fixpoint::ToolHelp help;
  help.name = "train_ocr";
  help.purpose = "Trains small networks that read drawn text.";
  help.usage = {"train_ocr FOLDER    writes networks and their dictionary there"};
  help.flag_groups = {{"Training:", {"steps"}}};
  return fixpoint::RunTool(argc, argv, help, fixpoint::ocr::Run);
}
