// Random problems of sums of codes, with operands: ordinary ones, and those that are at the ends of
// what codes, biases and zero points can be.

#ifndef FIXPOINT_TESTS_RUNTIME_KERNELS_RANDOM_SUMS_H_
#define FIXPOINT_TESTS_RUNTIME_KERNELS_RANDOM_SUMS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {

struct RandomSums {
  explicit RandomSums(SumsProblem drawn) : problem(std::move(drawn)) {}

  SumsProblem problem;
  std::vector<uint8_t> inputs;
  std::vector<int8_t> weights;
  std::vector<float> scales;
  int32_t zero_point = 0;
  std::vector<int32_t> bias;
  std::vector<int32_t> weight_zero_points;
  // Of each stage, with a number for each channel or element, or none.
  std::vector<std::vector<float>> operands;
  std::vector<uint8_t> added;  // what the output has before, where a stage adds codes
  int threads = 1;

  int64_t channels() const;
  int64_t out_size() const;
  std::string Text() const;
};

// The same for the same seed on every machine. Nothing: of 20,000 problems none is wanted.
std::optional<RandomSums> DrawSums(uint64_t seed,
                                   const std::function<bool(const SumsProblem&)>& is_wanted);

// The sums without scales, by loops in 64 bits.
std::vector<int64_t> PlainSumsOf(const RandomSums& drawn);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_TESTS_RUNTIME_KERNELS_RANDOM_SUMS_H_
