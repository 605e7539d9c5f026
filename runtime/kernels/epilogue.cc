#include "runtime/kernels/epilogue.h"

#include <glog/logging.h>

#include <cstdint>

#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

// elements[i] = f(elements[i], operand[i]), where an operand of channels goes on with each pixel.
template <typename F>
void Combine(absl::Span<const float> operand_span, absl::Span<float> elements_span, F f) {
  if (elements_span.empty()) return;
  CHECK_EQ(elements_span.size() % operand_span.size(), 0u);
  Vectorised([=, operand = operand_span.data(), elements = elements_span.data(),
              size = static_cast<int64_t>(elements_span.size()),
              channels = static_cast<int64_t>(operand_span.size())] {
    for (int64_t at = 0; at < size; at += channels) {
      float* const pixel = elements + at;
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) pixel[c] = f(pixel[c], operand[c]);
    }
  });
}

template <typename F>
void Map(absl::Span<float> elements_span, F f) {
  Vectorised(
      [=, elements = elements_span.data(), size = static_cast<int64_t>(elements_span.size())] {
        for (int64_t i = 0; i < size; ++i) elements[i] = f(elements[i]);
      });
}

}  // namespace

void Apply(const Epilogue& epilogue, EpilogueOperands operands, absl::Span<float> elements) {
  CHECK_EQ(epilogue.size(), operands.size());
  for (size_t i = 0; i < epilogue.size(); ++i) {
    const EpilogueStage& stage = epilogue[i];
    switch (stage.kind) {
      case EpilogueStage::Kind::kAddChannel:
      case EpilogueStage::Kind::kAddElement:
        Combine(operands[i], elements, [](float x, float operand) { return x + operand; });
        break;
      case EpilogueStage::Kind::kMultiplyChannel:
        Combine(operands[i], elements, [](float x, float operand) { return x * operand; });
        break;
      case EpilogueStage::Kind::kRelu:
        Map(elements, [](float x) { return x > 0 ? x : 0.0f; });
        break;
      case EpilogueStage::Kind::kClip:
        Map(elements, [a = stage.a, b = stage.b](float x) {
          const float raised = x > a ? x : a;
          return raised < b ? raised : b;
        });
        break;
    }
  }
}

}  // namespace fixpoint::kernels
