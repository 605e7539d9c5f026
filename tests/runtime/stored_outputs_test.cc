// Networks of the reference with their parameters give the outputs that the reference gave.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/file/program_file.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "runtime/backends.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/npy.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

struct Network {
  std::string folder;      // below models; holds input_<feed>.npy
  std::string program;     // in it
  std::string parameters;  // likewise; "": the folder itself
  std::vector<std::string> outputs;
  double tolerance;  // of the largest output
};

void PrintTo(const Network& network, std::ostream* out) {
  *out << network.folder << " " << network.program;
}

// The variables that are fetched, in the order of their places in the fetch list.
std::vector<std::string> FetchesOf(const Program& program) {
  std::map<int64_t, std::string> fetches;
  for (const Op& op : program.block(0).ops()) {
    if (op.type() == "fetch") {
      fetches[IntAttr(op.desc(), "col").value_or(0)] = std::string(op.Input("X")->name());
    }
  }
  std::vector<std::string> names;
  for (const auto& [place, name] : fetches) names.push_back(name);
  return names;
}

class StoredOutputs : public testing::TestWithParam<std::tuple<BackendKind, Network>> {};

TEST_P(StoredOutputs, AreReproduced) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const auto& [backend_kind, network] = GetParam();
  const std::string folder = absl::StrCat("models/", network.folder, "/");
  absl::StatusOr<LoadedProgram> loaded = LoadProgram(ReferencePath(folder + network.program));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const Program program = *Program::Create(std::move(loaded->program));
  absl::StatusOr<Scope> scope =
      LoadParameters(program.Proto(), ReferencePath(folder + network.parameters));
  ASSERT_TRUE(scope.ok()) << scope.status();
  for (const Op& op : program.block(0).ops()) {
    if (op.type() != "feed") continue;
    const std::string name(op.Output("Out")->name());
    scope->Set(name, LoadNpyOrDie(ReferencePath(absl::StrCat(folder, "input_", name, ".npy"))));
  }

  const auto backend = MakeBackend(backend_kind, program, &*scope);
  ASSERT_TRUE(backend.ok()) << backend.status();
  const std::vector<std::string> fetches = FetchesOf(program);
  const auto outputs = (*backend)->Run({}, fetches, 0);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), network.outputs.size());
  for (size_t i = 0; i < outputs->size(); ++i) {
    SCOPED_TRACE(fetches[i]);
    const Tensor expected = LoadNpyOrDie(ReferencePath(folder + network.outputs[i]));
    EXPECT_EQ((*outputs)[i].dims(), expected.dims());
    const auto values = (*outputs)[i].data<float>();
    const auto wanted = expected.data<float>();
    ASSERT_EQ(values.size(), wanted.size());
    double largest = 0;
    double difference = 0;
    for (size_t j = 0; j < values.size(); ++j) {
      largest = std::max(largest, std::fabs(static_cast<double>(wanted[j])));
      difference = std::max(difference, std::fabs(static_cast<double>(values[j]) - wanted[j]));
    }
    EXPECT_GT(largest, 0);
    EXPECT_LE(difference, network.tolerance * largest);
  }
}

// The reference sums in float, with an error of some units of 2^-24 of the largest term: 1e-5 in
// all.
constexpr double kSummedInFloat = 1e-5;
// Such an error decides ties of codes, and a code that differs in one layer is many in the next:
// noise of 1e-6 on the input of the deep quantized network moves its outputs by up to 4 percent. In
// those of a few layers none differs.
constexpr double kCodesDiffer = 0.05;

std::vector<Network> Networks() {
  std::vector<Network> networks = {
      {"with_params/uci_housing_fluid1_7", "__model__", "", {"output_0.npy"}, kSummedInFloat},
      {"with_params/edl_mnist_conv_fluid1_7", "__model__", "", {"output_0.npy"}, kSummedInFloat},
      {"with_params/ch_ppocr_mobile_v2.0_cls",
       "inference.pdmodel.gz",
       "inference.pdiparams",
       {"output_0.npy"},
       kSummedInFloat},
      {"with_params/ch_ppocr_mobile_v2.0_cls_slim",
       "inference.pdmodel.gz",
       "inference.pdiparams",
       {"output_0.npy"},
       kCodesDiffer},
  };
  for (const std::string name : {"PNet", "RNet"}) {
    networks.push_back({"with_params/mtcnn_" + name,
                        name + ".pdmodel",
                        name + ".pdiparams",
                        {"output_0.npy", "output_1.npy", "output_2.npy"},
                        kSummedInFloat});
  }
  // Trained quantized, then frozen, both by the reference.
  struct Frozen {
    const char* folder;
    const char* program;
    const char* parameters;
  };
  for (const Frozen& frozen : {
           Frozen{"fluid185_frozen/digits_conv-abs_max", "__model__", "__params__"},
           Frozen{"fluid185_frozen/digits_conv-range_abs_max", "__model__", "__params__"},
           Frozen{"paddle262_frozen/lenet-moving_average_abs_max-abs_max", "inference.pdmodel",
                  "inference.pdiparams"},
           Frozen{"paddle262_frozen/lenet-moving_average_abs_max-channel_wise_abs_max",
                  "inference.pdmodel", "inference.pdiparams"},
       }) {
    for (const auto& [form, output] : {std::pair("qat_inference/", "qat_test_output.npy"),
                                       std::pair("frozen_inference/", "frozen_output.npy"),
                                       // The same codes, stored as INT8.
                                       std::pair("int8_inference/", "frozen_output.npy")}) {
      networks.push_back({absl::StrCat("generated/", frozen.folder),
                          absl::StrCat(form, frozen.program),
                          absl::StrCat(form, frozen.parameters),
                          {output},
                          kSummedInFloat});
    }
  }
  return networks;
}

INSTANTIATE_TEST_SUITE_P(Networks, StoredOutputs,
                         testing::Combine(testing::Values(BackendKind::kReference,
                                                          BackendKind::kOneDnn),
                                          testing::ValuesIn(Networks())),
                         [](const testing::TestParamInfo<StoredOutputs::ParamType>& info) {
                           return absl::StrCat(BackendName(std::get<0>(info.param)), "_",
                                               info.index);
                         });

}  // namespace
}  // namespace fixpoint
