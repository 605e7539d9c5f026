// Any text as a configuration of NNI or PaddlePaddle: a program is rewritten by it and given back,
// or it is refused.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "tests/fuzz/input_error.h"
#include "tests/fuzz/rewriting.h"
#include "transpiler/exchange/foreign_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  absl::StatusOr<fixpoint::QuantConfig> config = fixpoint::ParseForeignConfig(text, "fuzz");
  if (!config.ok()) {
    fixpoint::CheckIsInputError(config.status());
    return 0;
  }
  fixpoint::TranspileOptions options;
  options.config = *std::move(config);
  fixpoint::TranspileAndUndo(fixpoint::SmallTrainingProgram(), options);
  return 0;
}
