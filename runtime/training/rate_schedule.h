// The learning rate of a program whose host feeds it. PaddlePaddle 2.x computes its schedules in
// Python and writes the rate into a variable before each step; the program itself keeps it as it
// is.

#ifndef FIXPOINT_RUNTIME_TRAINING_RATE_SCHEDULE_H_
#define FIXPOINT_RUNTIME_TRAINING_RATE_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"

namespace fixpoint {

class RateSchedule {
 public:
  // Reads one of
  //
  //   0.1                              a constant
  //   cosine:0.1                       falls from 0.1 to 0 along half a cosine (Loshchilov and
  //                                    Hutter, "SGDR", 2016, without restarts)
  //   linear:0.1                       falls from 0.1 to 0 along a line
  //   piecewise:0.1,0.01@100,0.001@200 0.1, from step 100 on 0.01, from step 200 on 0.001
  //
  // each of which may end in ",warmup=N": over the first N steps the rate rises along a line, by
  // equal parts, to what it would be otherwise (Goyal et al., "Accurate, large minibatch SGD",
  // 2017). Error (kInvalidArgument): it is none of these; a rate is below 0 or not finite; the
  // steps do not ascend.
  static absl::StatusOr<RateSchedule> Parse(absl::string_view text);

  // The rate of step `step` of `steps`, counted from 0. REQUIRES: 0 <= step < steps.
  double At(int64_t step, int64_t steps) const;

  // Whether the rate of a step depends on how many there are.
  bool depends_on_length() const { return shape_ == Shape::kCosine || shape_ == Shape::kLinear; }

 private:
  enum class Shape { kPiecewise, kCosine, kLinear };
  struct Piece {
    int64_t from = 0;  // a step
    double rate = 0;
  };

  RateSchedule() = default;

  Shape shape_ = Shape::kPiecewise;
  std::vector<Piece> pieces_;  // one, from step 0 on, for the other shapes
  int64_t warmup_ = 0;
};

// The variable by which a program is fed its rate: a persistable number that its optimizer ops
// read, directly or scaled, and that no op writes. Error (kInvalidArgument), which names an op: the
// program has no optimizer, or computes its rate itself, or is fed several.
absl::StatusOr<std::string> FindFedRate(const Program& program);

// The variable that the program's first optimizer op reads as its rate, whoever computes it; "" if
// there is none.
std::string FindFirstRate(const Program& program);

// Writes the rate into its variable. Error (kInvalidArgument): the scope does not hold one number
// of FP32 or FP64 there.
absl::Status SetRate(const std::string& variable, double rate, Scope* scope);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TRAINING_RATE_SCHEDULE_H_
