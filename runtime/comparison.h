// Compares two programs on the same inputs, variable by variable: where they begin to compute
// different values, and by how much.

#ifndef FIXPOINT_RUNTIME_COMPARISON_H_
#define FIXPOINT_RUNTIME_COMPARISON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "runtime/backend.h"
#include "runtime/op_by_op.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint {

// The units in which differences of a variable are counted.
enum class DifferenceUnit {
  kSteps,  // between two codes, or two integers
  kUlps,   // between two neighbours of the floating-point type
};
// From here on, floats differ by more than another order of additions makes them differ, and how
// many others lie between them says nothing.
inline constexpr double kTooManyUlps = 65536;

struct FirstDifference {
  int64_t run = 0;      // counted from 0
  int64_t element = 0;  // of the tensor, row major
  double value = 0;
  double other = 0;
};

// A variable that both programs have, over all runs that were compared.
struct ComparedVariable {
  std::string name;
  DifferenceUnit unit = DifferenceUnit::kUlps;
  int64_t elements = 0;
  int64_t different = 0;  // by value, and NaNs of other bits; codes like FP32
  std::optional<FirstDifference> first;
  double largest = 0;            // difference, in units; infinity between NaN and another value
  double largest_as_number = 0;  // the largest difference of two values; the same for NaN
  // How many of the different elements differ by one step, where a quantizer of one of the
  // programs, with one range or with a step and a zero point, rounds a value half-way between two
  // codes.
  int64_t ties = 0;
  // How many zeros are equal but have the opposite sign.
  int64_t other_zeros = 0;
  double signal = 0;  // the sum of squares of the other program's values
  double noise = 0;   // the sum of squares of differences from that

  // In dB; infinity if all values are the same.
  double SignalToNoise() const;
  // Whether `largest` says how much values differ; if not, `largest_as_number` does.
  bool UnitSaysHowMuch() const { return unit == DifferenceUnit::kSteps || largest < kTooManyUlps; }
};

// Why a variable that an op of block 0 writes is not compared.
enum class WhyLeftOut {
  kOnlyInProgram,  // no op of the other program writes it
  kOnlyInOther,    // no op of the first program does
  kPersistable,
  kNoTensor,
  kNotWritten,  // its ops do not write it in test mode
};

struct VariableLeftOut {
  std::string name;
  WhyLeftOut why;
};

// Adds the elements of two tensors to what is known about a variable. `run` is the run to record
// for a first difference. Errors (kInvalidArgument): the dimensions differ, of which [] and [1] are
// the same here, or the types differ and are not INT8 or UINT8 (codes) against FP32;
// (kUnimplemented): types other than BOOL, integers, FP32 and FP64.
absl::Status CompareTensors(const Tensor& tensor, const Tensor& other, int64_t run,
                            ComparedVariable* compared);

// Everything pointed to outlives the comparison.
struct RunnableProgram {
  const Program* program;
  Backend* backend;
  Scope* scope;  // the backend's
  // Whether one run fetches all variables. Otherwise they are fetched in kFetchingRuns runs
  // (fetching_runs.h), which keep no ops from being fused.
  bool in_one_run = false;
  // The inputs that the program is given from the other one (OpByOpProgram); codes of 8 bits that
  // the other one holds as FP32 are converted to integers.
  std::vector<GivenTensor> given = {};
};

// Compares all tensors of block 0 that ops of both programs write under the same name and that are
// not persistable, in the order in which the first program writes them.
class Comparison {
 public:
  // Only the first program may be given tensors. Error (kFailedPrecondition): the programs have no
  // such tensor.
  static absl::StatusOr<Comparison> Create(const RunnableProgram& program,
                                           const RunnableProgram& other);

  // Runs both programs on those of `feeds` that they declare, and the first one on what it is
  // given. State that a program updates is updated once, however many runs that takes; the next
  // call continues from there. Ops that draw random numbers do so for step 0. Linear in the
  // programs. Errors: those of Backend::Run, with the program, and of CompareTensors, with both and
  // the variable.
  absl::Status Run(absl::Span<const Feed> feeds);

  const std::vector<ComparedVariable>& variables() const { return variables_; }
  // All others that ops of block 0 write, each once.
  const std::vector<VariableLeftOut>& left_out() const { return left_out_; }
  int64_t elements() const { return SumOf(&ComparedVariable::elements); }
  int64_t different() const { return SumOf(&ComparedVariable::different); }
  int64_t ties() const { return SumOf(&ComparedVariable::ties); }
  int64_t other_zeros() const { return SumOf(&ComparedVariable::other_zeros); }
  // Null if no variable differs.
  const ComparedVariable* FirstThatDiffers() const;

 private:
  struct Side {
    RunnableProgram runnable;
    std::vector<int> runs;  // the run in which each variable is fetched
  };

  Comparison(Side program, Side other, std::vector<ComparedVariable> variables,
             std::vector<VariableLeftOut> left_out)
      : program_(std::move(program)),
        other_(std::move(other)),
        variables_(std::move(variables)),
        left_out_(std::move(left_out)) {}

  // Over all variables.
  int64_t SumOf(int64_t ComparedVariable::*count) const;
  // The inputs that the first program is given from the other one, for all variables.
  absl::StatusOr<std::vector<Tensor>> TensorsToGive(
      const std::vector<std::optional<Tensor>>& others) const;

  Side program_;
  Side other_;
  std::vector<ComparedVariable> variables_;
  std::vector<VariableLeftOut> left_out_;
  int64_t runs_ = 0;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_COMPARISON_H_
