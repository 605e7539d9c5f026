// The forms of a network that was quantized and trained (simulated, portable, lowered), and the
// differences of the others from the simulation.

#ifndef FIXPOINT_TESTS_COMPARISONS_NETWORK_FORMS_H_
#define FIXPOINT_TESTS_COMPARISONS_NETWORK_FORMS_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmarks/networks.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/lower/lower.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {

// Not moved: executors point into it.
struct NetworkForms {
  std::string image;
  std::string scores;
  std::vector<std::string> fetches;  // the scores, and what else the forms are frozen to compute
  Scope trained;
  Program simulated;
  FrozenModel portable;
  LoweredModel lowered;
};

// Freezes and lowers a quantized program with the parameters that its training left. The first of
// `fetches` are the scores.
absl::StatusOr<std::unique_ptr<NetworkForms>> MakeForms(const Program& quantized, Scope trained,
                                                        const std::string& image,
                                                        const std::vector<std::string>& fetches);

// Quantizes a network for the target onednn_int8 (or `options.target`) with a configuration, as
// text, and trains it for three steps on random images. Returns what training left.
absl::StatusOr<Scope> TrainQuantized(Network* network, const std::string& config,
                                     TranspileOptions options = {});

// The forms of a network that TrainQuantized trained.
absl::StatusOr<std::unique_ptr<NetworkForms>> TrainForms(Network network, const std::string& config,
                                                         TranspileOptions options = {});

// From a normal distribution of deviation 1.
Tensor RandomImages(const std::vector<int64_t>& dims, uint64_t seed);

// A fetch prevents ops from being fused. A run for each variable shows what a program computes
// where nothing else is fetched; for deep networks that takes minutes.
enum class Fetching { kOneByOne, kAllInOneRun };

struct FormsComparison {
  // "portable, conv2d_0.tmp_0: 3 of 100 differ; element 7 is 0.5, simulated 0.25"; the forms are
  // portable and lowered, beside those of CompareRunsOfLowered. Where the portable program rounds
  // ties away from zero, the lowered one is compared with it op by op, in what is computed on
  // integers, moved or compared, and ties do not count.
  std::vector<std::string> differences;
  std::set<std::string> variables;  // that the lowered program has in common with the simulation
};
absl::StatusOr<FormsComparison> CompareForms(NetworkForms& forms, const Tensor& images,
                                             Fetching fetching = Fetching::kOneByOne);

// The differences of the lowered program on two threads, and on the interpreter. The interpreter
// sums floats in another order, so it judges only ops on integers and the steps between floats and
// codes, each of which reads what the executor computed.
absl::StatusOr<std::vector<std::string>> CompareRunsOfLowered(NetworkForms& forms,
                                                              const Tensor& images,
                                                              Fetching fetching);

// What interpreters compute otherwise of the simulated and of the portable program: the one than
// the other, in all variables; and each than the executor, given what that computes, in what
// rounding does not reach: codes, and what is moved or compared. The code of a small negative
// number is -0 where codes are held as floats; signs of zeros do not count. An int32 bias is added
// in float to a product that is fetched, and what follows is rounded otherwise than in a run that
// does not fetch the product; so ops of programs with such biases are given what one run fetches.
absl::StatusOr<std::vector<std::string>> CompareRunsOfInterpreter(
    NetworkForms& forms, const Tensor& images, Fetching fetching = Fetching::kOneByOne);

// What is fetched otherwise where nothing but the forms' fetches is, and parameters do not change,
// than from the simulation, and whether as many multiplications and additions are of codes: not of
// a lowered program beside a portable one that rounds ties away from zero.
absl::StatusOr<std::vector<std::string>> CompareDeployedForms(NetworkForms& forms,
                                                              const Tensor& images);

// What a form computes where nothing but its scores is fetched.
absl::StatusOr<std::vector<float>> ScoresOf(const NetworkForms& forms, const Program& form,
                                            Scope* scope, const Tensor& images);

// "mul: 2 of 3 not_quantized": op types that are not all computed on integers, with why not.
std::vector<std::string> NotOnIntegers(const LoweredModel& lowered,
                                       const std::set<std::string>& op_types);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_COMPARISONS_NETWORK_FORMS_H_
