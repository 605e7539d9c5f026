// Any text as a file of quantizers: it is refused, or a training program is quantized by each of
// them and given back byte for byte.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"
#include "ops/quantizers/text_quantizer.h"
#include "tests/fuzz/input_error.h"
#include "tests/fuzz/rewriting.h"

namespace fixpoint {
namespace {

QuantSpec SpecOf(const Quantizer& quantizer) {
  QuantSpec spec;
  spec.set_quantizer(std::string(quantizer.name()));
  spec.set_form(QuantSpec::FUSED);
  spec.set_bits(3);
  return spec;
}

// With and without a profile: first values are computed by ops, or follow from the range.
void QuantizeBy(const Quantizer& quantizer, const QuantizerTable& table) {
  static const RangeProfile* const kProfile = [] {
    auto* made = new RangeProfile;
    for (const char* name : {"x", "r", "h"}) {
      RangeProfile::Entry* const entry = made->add_entries();
      entry->set_variable(name);
      entry->set_min(-0.5);
      entry->set_max(3);
    }
    return made;
  }();
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  *options.config.mutable_weights() = SpecOf(quantizer);
  if (quantizer.granularity() == QuantSpec::PER_TENSOR) {
    *options.config.mutable_activations() = SpecOf(quantizer);
  }
  options.quantizers = &table;
  TranspileAndUndo(SmallTrainingProgram(), options);
  options.profile = kProfile;
  TranspileAndUndo(SmallTrainingProgram(), options);
}

}  // namespace
}  // namespace fixpoint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  auto quantizers = fixpoint::ReadQuantizers(text, "quantizers.txt");
  if (!quantizers.ok()) {
    fixpoint::CheckIsInputError(quantizers.status());
    return 0;
  }
  fixpoint::QuantizerTable table;
  std::vector<const fixpoint::Quantizer*> added;
  for (std::unique_ptr<fixpoint::Quantizer>& quantizer : *quantizers) {
    const fixpoint::Quantizer* const one = quantizer.get();
    const absl::Status status = table.Add(std::move(quantizer));
    if (status.ok()) {
      added.push_back(one);
    } else {
      fixpoint::CheckIsInputError(status);
    }
  }
  for (const fixpoint::Quantizer* quantizer : added) fixpoint::QuantizeBy(*quantizer, table);
  return 0;
}
