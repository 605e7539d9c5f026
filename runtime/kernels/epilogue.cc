#include "runtime/kernels/epilogue.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "ops/fixed_point.h"
#include "runtime/kernels/parallel_for.h"
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

template <typename Code>
void AddSpanOfCodes(absl::Span<const float> x_span, absl::Span<const Code> codes_span, float step,
                    float zero_point, absl::Span<float> out_span) {
  CHECK_EQ(codes_span.size(), out_span.size());
  CHECK_EQ(x_span.size(), out_span.size());
  ParallelFor(static_cast<int64_t>(out_span.size()), 2 * sizeof(float) + sizeof(Code),
              [=, x = x_span.data(), codes = codes_span.data(), out = out_span.data()](
                  int64_t begin, int64_t end) {
#pragma GCC ivdep  // out may be x
                for (int64_t i = begin; i < end; ++i) {
                  out[i] = __builtin_fmaf(static_cast<float>(codes[i]) - zero_point, step, x[i]);
                }
              });
}

template <typename Code>
void StoreCodes(absl::Span<const float> elements_span, absl::Span<Code> codes_span) {
  CHECK_EQ(codes_span.size(), elements_span.size());
  Vectorised([elements = elements_span.data(), codes = codes_span.data(),
              size = static_cast<int64_t>(elements_span.size())] {
    constexpr float kSmallest = std::numeric_limits<Code>::min();
    constexpr float kLargest = std::numeric_limits<Code>::max();
    constexpr float kNoFraction = 12582912.0f;  // 1.5 * 2^23: the last bit of such a number is 1
    for (int64_t i = 0; i < size; ++i) {
      const float raised = elements[i] > kSmallest ? elements[i] : kSmallest;
      const float clipped = raised < kLargest ? raised : kLargest;
      codes[i] = static_cast<Code>(static_cast<int32_t>((clipped + kNoFraction) - kNoFraction));
    }
  });
}

// `out` holds the codes that a stage adds; null where no stage does.
void ApplyStages(const Epilogue& epilogue, EpilogueOperands operands, const Output* out,
                 absl::Span<float> elements) {
  using Kind = EpilogueStage::Kind;
  CHECK_EQ(epilogue.size(), operands.size());
  for (size_t i = 0; i < epilogue.size(); ++i) {
    const float a = epilogue[i].a;
    const float b = epilogue[i].b;
    switch (epilogue[i].kind) {
      case Kind::kAddChannel:
      case Kind::kAddElement:
        Combine(operands[i], elements, [](float x, float operand) { return x + operand; });
        break;
      case Kind::kMultiplyChannel:
        Combine(operands[i], elements, [](float x, float operand) { return x * operand; });
        break;
      case Kind::kRequantize:
        if (a == 1) {
          Combine(operands[i], elements, RequantizeFloat<1>);
        } else {
          Combine(operands[i], elements, RequantizeFloat<2>);
        }
        break;
      case Kind::kAddInt8:
        CHECK(out != nullptr && out->type() != OutputType::kFloat);
        AddSpanOfCodes<int8_t>(elements, out->As<int8_t>(), a, b, elements);
        break;
      case Kind::kAddUint8:
        CHECK(out != nullptr && out->type() != OutputType::kFloat);
        AddSpanOfCodes<uint8_t>(elements, out->As<uint8_t>(), a, b, elements);
        break;
      case Kind::kMultiply:
        Map(elements, [a](float x) { return x * a; });
        break;
      case Kind::kRelu:
        Map(elements, [](float x) { return x > 0 ? x : 0.0f; });
        break;
      case Kind::kLeakyRelu:
        Map(elements, [a](float x) { return x > 0 ? x : x * a; });
        break;
      case Kind::kHardSwish:
        Map(elements, [a, b](float x) {
          const float line = x * a + b;
          const float raised = line > 0 ? line : 0.0f;
          return x * (raised < 1 ? raised : 1.0f);
        });
        break;
      case Kind::kAdd:
        Map(elements, [a](float x) { return x + a; });
        break;
      case Kind::kRound:
        Map(elements, [](float x) { return __builtin_nearbyintf(x); });
        break;
      case Kind::kClip:
        Map(elements, [a, b](float x) {
          const float raised = x > a ? x : a;
          return raised < b ? raised : b;
        });
        break;
    }
  }
}

}  // namespace

void AddCodes(absl::Span<const float> x, absl::Span<const uint8_t> codes, float step,
              float zero_point, absl::Span<float> out) {
  AddSpanOfCodes(x, codes, step, zero_point, out);
}

void AddCodes(absl::Span<const float> x, absl::Span<const int8_t> codes, float step,
              float zero_point, absl::Span<float> out) {
  AddSpanOfCodes(x, codes, step, zero_point, out);
}

Output Output::Part(size_t at, size_t size) const {
  switch (type_) {
    case OutputType::kUint8:
      return As<uint8_t>().subspan(at, size);
    case OutputType::kInt8:
      return As<int8_t>().subspan(at, size);
    case OutputType::kFloat:
      break;
  }
  return As<float>().subspan(at, size);
}

void Apply(const Epilogue& epilogue, EpilogueOperands operands, absl::Span<float> elements) {
  ApplyStages(epilogue, operands, nullptr, elements);
}

void Store(const Epilogue& epilogue, EpilogueOperands operands, absl::Span<float> elements,
           Output out) {
  ApplyStages(epilogue, operands, &out, elements);
  switch (out.type()) {
    case OutputType::kFloat:
      CHECK_EQ(out.size(), elements.size());
      std::copy(elements.begin(), elements.end(), out.As<float>().begin());
      break;
    case OutputType::kUint8:
      StoreCodes<uint8_t>(elements, out.As<uint8_t>());
      break;
    case OutputType::kInt8:
      StoreCodes<int8_t>(elements, out.As<int8_t>());
      break;
  }
}

}  // namespace fixpoint::kernels
