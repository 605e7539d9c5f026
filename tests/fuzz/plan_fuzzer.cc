// Any text as a plan, and as a profile of ranges: a program is rewritten by it and given back, or
// it is refused.

#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>

#include "proto/file/text_message.h"
#include "tests/fuzz/rewriting.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::LogSilencer names_need_not_be_utf8;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  fixpoint::QuantPlan plan;
  if (fixpoint::ParseTextMessage(text, "plan", &plan).ok()) {
    fixpoint::TranspileOptions options;
    options.plan = &plan;
    fixpoint::TranspileAndUndo(fixpoint::SmallTrainingProgram(), options);
  }
  fixpoint::RangeProfile profile;
  if (fixpoint::ParseTextMessage(text, "profile", &profile).ok()) {
    fixpoint::TranspileOptions options;
    options.profile = &profile;
    // Unlike min-max, it reads the distributions.
    options.config.mutable_activations()->set_range_rule(fixpoint::QuantSpec::MSE);
    fixpoint::TranspileAndUndo(fixpoint::SmallTrainingProgram(), options);
  }
  return 0;
}
