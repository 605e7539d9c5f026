// Inference for a driver (worker.h). Variants are "float", "simulated" and "int8".

#include <glog/logging.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/timed_predictor.h"
#include "benchmarks/worker.h"
#include "runtime/thread_waiting.h"

namespace fixpoint {
namespace {

class Inference final : public TimedWork {
 public:
  Inference(const WorkRequest& request, Form form)
      : predictor_(request.network, form, request.batch, /*profile=*/false, request.threads) {}
  double Run() override { return predictor_.Run(); }

 private:
  TimedPredictor predictor_;
};

absl::StatusOr<std::unique_ptr<TimedWork>> MakeInference(const WorkRequest& request) {
  if (request.variant == "float") return std::make_unique<Inference>(request, Form::kFloat);
  if (request.variant == "simulated") {
    return std::make_unique<Inference>(request, Form::kSimulated);
  }
  if (request.variant == "int8") return std::make_unique<Inference>(request, Form::kLowered);
  return absl::InvalidArgumentError(
      absl::StrCat("variant is \"", request.variant, "\"; want float, simulated or int8"));
}

}  // namespace
}  // namespace fixpoint

int main(int, char** argv) {
  fixpoint::SpinBriefly(argv);
  google::InitGoogleLogging(argv[0]);
  fixpoint::ServeWork(fixpoint::MakeInference);
  return 0;
}
