// Any text as a target: a program is rewritten for it and given back, or it is refused.

#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "tests/fuzz/input_error.h"
#include "tests/fuzz/rewriting.h"
#include "transpiler/plan/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::LogSilencer names_need_not_be_utf8;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  static const fixpoint::QuantizerTable& quantizers = *new fixpoint::QuantizerTable;
  absl::StatusOr<fixpoint::Target> target = fixpoint::ParseTarget(text, "fuzz", quantizers);
  if (!target.ok()) {
    fixpoint::CheckIsInputError(target.status());
    return 0;
  }
  fixpoint::TranspileOptions options;
  options.target = *std::move(target);
  options.config.set_observe_outputs(true);
  for (const char* type : {"elementwise_add", "mul"}) options.config.add_also_quantize(type);
  fixpoint::TranspileAndUndo(fixpoint::SmallTrainingProgram(), options);
  return 0;
}
