#include "transpiler/quantize/quantized_network.h"

#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "proto/file/text_message.h"
#include "runtime/inference_model.h"
#include "runtime/staged_directory.h"
#include "transpiler/report/page/page.h"
#include "transpiler/report/report_file.h"

namespace fixpoint {
namespace {

absl::Status WriteText(absl::string_view text, const std::string& name, StagedDirectory* folder) {
  ASSIGN_OR_RETURN(AtomicFile file, folder->CreateFile(name));
  RETURN_IF_ERROR(file.Append(text));
  return file.Commit();
}

}  // namespace

absl::Status WriteQuantizedNetwork(const QuantizedNetwork& network, const std::string& folder) {
  ASSIGN_OR_RETURN(StagedDirectory staged, StagedDirectory::Create(folder));
  RETURN_IF_ERROR(WriteInferenceModel(network.portable.program.Proto(), network.portable.scope,
                                      "portable", &staged));
  RETURN_IF_ERROR(WriteInferenceModel(network.lowered.program.Proto(), network.lowered.scope,
                                      "lowered", &staged));
  RETURN_IF_ERROR(WriteText(PrintTextMessage(network.profile), "profile.textproto", &staged));
  RETURN_IF_ERROR(WriteText(PrintTextMessage(network.simulated.plan), "plan.textproto", &staged));
  RETURN_IF_ERROR(WriteText(PrintTextMessage(network.config), "config.textproto", &staged));
  RETURN_IF_ERROR(WriteText(PrintTextMessage(network.report), kReportFile, &staged));
  RETURN_IF_ERROR(
      WriteText(ReportPage({{network.report.program(), network.report}}), "report.html", &staged));
  return staged.Commit();
}

}  // namespace fixpoint
