// Feeds tensors to a quantizer, as the ops of a training program would.

#ifndef FIXPOINT_TESTS_OPS_QUANTIZER_FEEDER_H_
#define FIXPOINT_TESTS_OPS_QUANTIZER_FEEDER_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/quantizer_table.h"
#include "tests/testing/norm_quantizer.h"

namespace fixpoint {

// The table, and a quantizer whose range is not that of the largest absolute value.
inline QuantizerTable TableWithNorm() {
  QuantizerTable table;
  EXPECT_TRUE(table.Add(std::make_unique<NormQuantizer>()).ok());
  return table;
}

// A quantizer with its state, fed tensors of one value: the largest absolute value is all that
// most of them see.
class Feeder {
 public:
  explicit Feeder(absl::string_view quantizer, const QuantSpec& spec = {})
      : quantizer_(*table_.Find(quantizer)), spec_(spec) {
    Fill([&](const QuantizerState& state) { return quantizer_.InitialValue(state, spec_); });
  }
  // One that begins with the range of a profile.
  Feeder(absl::string_view quantizer, const QuantSpec& spec, float min, float max)
      : quantizer_(*table_.Find(quantizer)), spec_(spec) {
    Fill([&](const QuantizerState& state) {
      return quantizer_.ValueOfRange(state, spec_, min, max);
    });
  }

  float Feed(const std::vector<float>& values) {
    std::vector<absl::Span<float>> spans;
    for (std::vector<float>& state : state_) spans.push_back(absl::MakeSpan(state));
    return quantizer_.Observe(spec_, values, spans, ++step_);
  }
  std::vector<float> FeedAll(const std::vector<float>& sequence) {
    std::vector<float> scales;
    for (const float value : sequence) scales.push_back(Feed({value}));
    return scales;
  }
  const std::vector<float>& state(int index) const { return state_[index]; }

 private:
  template <typename ValueOf>
  void Fill(const ValueOf& value_of) {
    for (const QuantizerState& state : quantizer_.recipes().front().state) {
      const size_t extent = state.extent == QuantizerState::Extent::kWindow
                                ? static_cast<size_t>(Parameter(quantizer_, spec_, "window_size"))
                                : 1;
      state_.emplace_back(extent, static_cast<float>(value_of(state)));
    }
  }

  const QuantizerTable table_ = TableWithNorm();
  const Quantizer& quantizer_;
  const QuantSpec spec_;
  std::vector<std::vector<float>> state_;
  int64_t step_ = 0;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_OPS_QUANTIZER_FEEDER_H_
