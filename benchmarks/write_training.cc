// Writes a network's training program, NAME.train.pb, and its startup program, NAME.startup.pb:
//
//   write_training FOLDER NETWORK
//
// Residual networks are trained by Nesterov's momentum, the others by Adam.

#include <glog/logging.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/networks.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

void Write(const Program& program, const std::string& path) {
  const absl::Status status = SaveProgram(program.Proto(), ProgramFormat::kBinary, path);
  CHECK(status.ok()) << status;
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 3) << "want FOLDER NETWORK";
  const std::string network = argv[2];
  const fixpoint::Training training = absl::StrContains(network, "resnet")
                                          ? fixpoint::Training::kNesterov
                                          : fixpoint::Training::kAdam;
  const fixpoint::Network built = fixpoint::BuildNetwork(network, /*batch=*/128, training);
  const std::string path = absl::StrCat(argv[1], "/", network);
  fixpoint::Write(built.main, absl::StrCat(path, ".train.pb"));
  fixpoint::Write(built.startup, absl::StrCat(path, ".startup.pb"));
  return 0;
}
