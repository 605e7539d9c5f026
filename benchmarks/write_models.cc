// Writes networks as models of inference, in float and on integers, each a program NAME.pdmodel
// with its parameters NAME.pdiparams:
//
//   write_models FOLDER NETWORK...    lenet5.float.pdmodel, lenet5.int8.pdmodel, ...

#include <glog/logging.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/inference_form.h"
#include "proto/program/program.h"
#include "runtime/inference_model.h"

namespace fixpoint {
namespace {

void Write(const std::string& folder, const std::string& network, Form form,
           const std::string& name) {
  const InferenceForm made = MakeInferenceForm(network, form);
  const absl::Status status = SaveInferenceModel(made.program.Proto(), made.scope,
                                                 absl::StrCat(folder, "/", network, ".", name));
  CHECK(status.ok()) << status;
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  for (int i = 2; i < argc; ++i) {
    fixpoint::Write(argv[1], argv[i], fixpoint::Form::kFloat, "float");
    fixpoint::Write(argv[1], argv[i], fixpoint::Form::kLowered, "int8");
  }
  return 0;
}
