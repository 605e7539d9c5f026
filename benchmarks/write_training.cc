// Writes a network's training program, NAME.train.pb, and its startup program, NAME.startup.pb:
//
//   write_training FOLDER NETWORK

#include <glog/logging.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/networks.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 3) << "want FOLDER NETWORK";
  const std::string network = argv[2];
  const fixpoint::Network built =
      fixpoint::BuildNetwork(network, /*batch=*/128, fixpoint::Training::kNesterov);
  const std::string base = absl::StrCat(argv[1], "/", network);
  const absl::Status main_status = fixpoint::SaveProgram(
      built.main.Proto(), fixpoint::ProgramFormat::kBinary, absl::StrCat(base, ".train.pb"));
  CHECK(main_status.ok()) << main_status;
  const absl::Status startup_status = fixpoint::SaveProgram(
      built.startup.Proto(), fixpoint::ProgramFormat::kBinary, absl::StrCat(base, ".startup.pb"));
  CHECK(startup_status.ok()) << startup_status;
  return 0;
}
