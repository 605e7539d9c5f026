// Any text as a pass pipeline: it is printed as what it means, and runs or is refused.

#include <glog/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tests/fuzz/input_error.h"
#include "tests/fuzz/rewriting.h"
#include "transpiler/pipeline/pipeline.h"
#include "transpiler/train/train_passes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fixpoint::PassTable& passes = *new fixpoint::PassTable(fixpoint::TrainPasses());
  fixpoint::TranspileOptions options;
  options.pipeline = std::string(reinterpret_cast<const char*>(data), size);
  const auto pipeline = fixpoint::ParseTrainPipeline(options.pipeline, passes);
  if (!pipeline.ok()) {
    fixpoint::CheckIsInputError(pipeline.status());
    return 0;
  }
  const auto again = fixpoint::ParseTrainPipeline(pipeline->ToText(), passes);
  CHECK(again.ok()) << again.status();
  CHECK_EQ(again->ToText(), pipeline->ToText());
  fixpoint::TranspileAndUndo(fixpoint::SmallTrainingProgram(), options);
  return 0;
}
