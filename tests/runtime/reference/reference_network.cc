#include "tests/runtime/reference/reference_network.h"

#include <glog/logging.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/op_schema.h"
#include "proto/file/program_file.h"
#include "tests/testing/reference_data.h"

namespace fixpoint::reference {
namespace {

Program Load(const std::string& path) {
  absl::StatusOr<LoadedProgram> loaded = LoadProgram(path);
  CHECK(loaded.ok()) << loaded.status();
  return *Program::Create(std::move(loaded->program), path.substr(path.rfind('/') + 1));
}

std::string LossOf(const Program& program) {
  for (const Op& op : program.block(0).ops()) {
    if (op.role() != (kBackward | kLoss) || op.type() != "fill_constant") continue;
    return std::string(absl::StripSuffix(op.Output("Out")->name(), kGradientSuffix));
  }
  LOG(FATAL) << program.name() << " has no backward pass";
}

}  // namespace

ReferenceNetwork LoadReferenceNetwork(const std::string& name, const std::string& quantized) {
  const std::string stem = absl::StrCat("models/generated/", name);
  const std::string file = quantized + ".pdmodel";
  // Passes of 2.x leave the startup program as it is.
  std::string startup = ReferencePath(absl::StrCat(stem, "-train_startup", file));
  if (startup.empty()) startup = ReferencePath(absl::StrCat(stem, "-train_startup.pdmodel"));
  Program main = Load(ReferencePath(absl::StrCat(stem, "-train_main", file)));
  const std::string loss = LossOf(main);
  return {Load(startup), std::move(main), loss};
}

}  // namespace fixpoint::reference
