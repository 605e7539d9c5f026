// The loops of fake_quantize.h over one line of memory, compiled once for each instruction set
// (fake_quantize_loops.inc).

#ifndef FIXPOINT_RUNTIME_KERNELS_FAKE_QUANTIZE_LOOPS_H_
#define FIXPOINT_RUNTIME_KERNELS_FAKE_QUANTIZE_LOOPS_H_

#include <cstdint>
#include <type_traits>

#include "proto/quant_config.pb.h"

namespace fixpoint::kernels {

// What nothing is written to.
struct None {};

// Elements that follow each other in memory, with one range for all of them or one for each.
struct Line {
  int64_t size = 0;
  const float* ranges = nullptr;
  const float* multipliers = nullptr;  // largest code / range
  float largest_code = 0;
  QuantSpec::Rounding rounding = QuantSpec::HALF_TO_EVEN;
  bool range_for_each = false;
};

// For each element its code and the number that it stands for, where they are wanted.
template <typename Code, typename Value>
using QuantizeLine = void (*)(const Line& line, const float* x, Code* codes, Value* values);
template <typename Code>
using DequantizeLine = void (*)(const Line& line, const Code* codes, float* values);

struct Loops {
  // The bits of the largest absolute value, which of positive floats ascend with their value: those
  // of a NaN are above those of infinity.
  uint32_t (*abs_max_bits)(const float* x, int64_t size);
  // Raises the bits of each place to those of the element there.
  void (*raise_abs_max_bits)(const float* x, int64_t size, uint32_t* largest);

  QuantizeLine<float, None> quantize_to_float;
  QuantizeLine<int8_t, None> quantize_to_int8;
  QuantizeLine<uint8_t, None> quantize_to_uint8;
  QuantizeLine<None, float> quantize_dequantize;
  QuantizeLine<int8_t, float> quantize_dequantize_to_int8;
  QuantizeLine<uint8_t, float> quantize_dequantize_to_uint8;
  DequantizeLine<float> dequantize_float;
  DequantizeLine<int8_t> dequantize_int8;
  DequantizeLine<uint8_t> dequantize_uint8;
};

// Those of the best instruction set that the machine has, and that oneDNN may use.
const Loops& BestLoops();

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_FAKE_QUANTIZE_LOOPS_H_
