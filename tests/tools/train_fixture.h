// train on a small network, in a folder of its own.

#ifndef FIXPOINT_TESTS_TOOLS_TRAIN_FIXTURE_H_
#define FIXPOINT_TESTS_TOOLS_TRAIN_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/testing/reference_data.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {

class Train : public testing::Test {
 protected:
  Train() {
    folder_.Write("mlp.txt", ReadFileOrDie("examples/data/mlp.train.txt"));
    folder_.Write("mlp.startup.txt", ReadFileOrDie("examples/data/mlp.startup.txt"));
  }

  // 100 digits in batches of 20: 5 steps an epoch.
  BinaryRun Run(std::vector<std::string> flags, RunBinaryOptions options = {}) const {
    flags.insert(flags.begin(), {"--data=digits:100", "--batch_size=20"});
    return RunOnOtherData(flags, std::move(options));
  }

  BinaryRun RunOnOtherData(std::vector<std::string> flags, RunBinaryOptions options = {}) const {
    options.callers_directory = folder_.Path();
    flags.insert(flags.begin(), {"mlp.txt", "--startup=mlp.startup.txt"});
    return RunBinary("tools/train", flags, options);
  }

  // All files of a folder, one after another, with their names in it.
  std::string BytesOf(const std::string& name) const {
    std::string bytes;
    for (const std::string& file : folder_.Files()) {
      if (!absl::StartsWith(file, name + "/")) continue;
      bytes += file.substr(name.size() + 1) + "\n" + folder_.Read(file) + "\n";
    }
    return bytes;
  }

  TemporaryFolder folder_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TOOLS_TRAIN_FIXTURE_H_
