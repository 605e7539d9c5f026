// Training steps for a driver (worker.h). Variants are "float" and "quantized", and
// "quantized_bf16", which has a backward pass in bf16.

#include <glog/logging.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "benchmarks/networks.h"
#include "benchmarks/timed_trainer.h"
#include "benchmarks/worker.h"
#include "runtime/backward_precision.h"
#include "runtime/thread_waiting.h"

namespace fixpoint {
namespace {

class Training final : public TimedWork {
 public:
  explicit Training(const WorkRequest& request)
      : trainer_(BuildNetwork(request.network, request.batch),
                 request.variant == "float" ? TrainedAs::kFloat : TrainedAs::kQuantized,
                 /*profile=*/false, request.threads,
                 request.variant == "quantized_bf16" ? BackwardPrecision::kBfloat16
                                                     : BackwardPrecision::kFloat) {}
  double Run() override { return trainer_.Step(); }

 private:
  TimedTrainer trainer_;
};

absl::StatusOr<std::unique_ptr<TimedWork>> MakeTraining(const WorkRequest& request) {
  const absl::string_view variants[] = {"float", "quantized", "quantized_bf16"};
  if (std::find(std::begin(variants), std::end(variants), request.variant) == std::end(variants)) {
    return absl::InvalidArgumentError(absl::StrCat("variant is \"", request.variant,
                                                   "\"; want float, quantized or quantized_bf16"));
  }
  return std::make_unique<Training>(request);
}

}  // namespace
}  // namespace fixpoint

int main(int, char** argv) {
  fixpoint::SpinBriefly(argv);
  google::InitGoogleLogging(argv[0]);
  fixpoint::ServeWork(fixpoint::MakeTraining);
  return 0;
}
