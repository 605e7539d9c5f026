// Training steps for a driver (worker.h). Variants are "float" and "quantized".

#include <glog/logging.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/networks.h"
#include "benchmarks/timed_trainer.h"
#include "benchmarks/worker.h"

namespace fixpoint {
namespace {

class Training final : public TimedWork {
 public:
  explicit Training(const WorkRequest& request)
      : trainer_(BuildNetwork(request.network, request.batch),
                 request.variant == "quantized" ? TrainedAs::kQuantized : TrainedAs::kFloat) {}
  double Run() override { return trainer_.Step(); }

 private:
  TimedTrainer trainer_;
};

absl::StatusOr<std::unique_ptr<TimedWork>> MakeTraining(const WorkRequest& request) {
  if (request.variant != "float" && request.variant != "quantized") {
    return absl::InvalidArgumentError(
        absl::StrCat("variant is \"", request.variant, "\"; want float or quantized"));
  }
  return std::make_unique<Training>(request);
}

}  // namespace
}  // namespace fixpoint

int main(int, char** argv) {
  google::InitGoogleLogging(argv[0]);
  fixpoint::ServeWork(fixpoint::MakeTraining);
  return 0;
}
