// Inference with saved models for a driver (worker.h).

#include <glog/logging.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/clock.h"
#include "benchmarks/worker.h"
#include "proto/base/status_macros.h"
#include "runtime/data/data_source.h"
#include "runtime/data/sample_set.h"
#include "runtime/predictor.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

class Inference final : public TimedWork {
 public:
  Inference(std::unique_ptr<Predictor> predictor, std::vector<Tensor> inputs)
      : predictor_(std::move(predictor)), inputs_(std::move(inputs)) {}

  double Run() override {
    const double begin = CpuSeconds();
    const absl::Status status = predictor_->Run(inputs_, &outputs_);
    CHECK(status.ok()) << status;
    return CpuSeconds() - begin;
  }

 private:
  const std::unique_ptr<Predictor> predictor_;
  const std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
};

// Every sample of the field with that name, in the types that the file has.
absl::StatusOr<Tensor> ReadField(const SampleSet& set, const std::string& name) {
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < set.size(); ++i) samples.push_back(i);
  for (size_t i = 0; i < set.fields().size(); ++i) {
    const SampleField& field = set.fields()[i];
    if (field.name != name) continue;
    ASSIGN_OR_RETURN(std::vector<Tensor> values, set.Read(samples, {{i, field.dims, false}}));
    return std::move(values.front());
  }
  return absl::NotFoundError(absl::StrCat("the file has no array \"", name, "\", which is fed"));
}

absl::StatusOr<std::unique_ptr<TimedWork>> MakeInference(const ModelRequest& request) {
  ASSIGN_OR_RETURN(std::unique_ptr<Predictor> predictor, Predictor::Load(request.model));
  ASSIGN_OR_RETURN(const std::unique_ptr<SampleSet> set,
                   OpenSamples(NpzFile{request.feeds}, DataPart::kTest));
  std::vector<Tensor> inputs;
  for (const std::string& name : predictor->inputs()) {
    ASSIGN_OR_RETURN(Tensor input, ReadField(*set, name));
    inputs.push_back(std::move(input));
  }
  return std::make_unique<Inference>(std::move(predictor), std::move(inputs));
}

}  // namespace
}  // namespace fixpoint

int main(int, char** argv) {
  google::InitGoogleLogging(argv[0]);
  fixpoint::ServeModelWork(fixpoint::MakeInference);
  return 0;
}
