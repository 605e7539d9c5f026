// Programs whose composites are expanded, and what they compute.

#ifndef FIXPOINT_TESTS_TRANSPILER_COMPOSITES_EXPANDED_PROGRAMS_H_
#define FIXPOINT_TESTS_TRANSPILER_COMPOSITES_EXPANDED_PROGRAMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"
#include "transpiler/patterns/rewrite.h"

namespace fixpoint {

std::string Bytes(const Program& program);

// Runs passes, and leaves no edit log. raise_composites gives back ops of the given types, or all.
absl::StatusOr<RewriteReport> RunPasses(
    Program* program, const std::string& pipeline,
    const std::optional<std::vector<std::string>>& raised_types = std::nullopt);

// A copy in which something was expanded.
Program Expanded(const Program& program);

// A product, a softmax, a layer norm, a gelu and a product, whose mean is "l".
extern const char kTrained[];

// FP32, in [-scale, scale].
Tensor Numbers(std::vector<int64_t> dims, int seed, float scale = 1);

struct NamedTensor {
  std::string name;
  const Tensor* tensor;
};

// The fetch of a program in which these variables have values.
std::vector<float> Fetched(const Program& program, const std::string& fetch,
                           const std::vector<NamedTensor>& values);

// The same for numbers of these dims, each from a seed of its own: 1, 2, ...
std::vector<float> Fetched(const Program& program, const std::string& fetch,
                           const std::vector<std::pair<std::string, std::vector<int64_t>>>& values);

// Expects that they differ by rounding alone.
void ExpectNear(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TRANSPILER_COMPOSITES_EXPANDED_PROGRAMS_H_
