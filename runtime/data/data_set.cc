#include "runtime/data/data_set.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/data/cifar10.h"
#include "runtime/data/color_digits.h"
#include "runtime/data/digits.h"
#include "runtime/data/idx.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;

// Rendered sets of different seeds have nothing in common. They are the same for every run.
constexpr uint64_t kTrainingSeed = 1;
constexpr uint64_t kTestSeed = 2;

// The file itself, or gzipped. If neither exists, its reader complains.
std::string PlainOrGzipped(const std::string& path) {
  std::error_code error;
  const std::string gzipped = path + ".gz";
  return !fs::exists(path, error) && fs::exists(gzipped, error) ? gzipped : path;
}

absl::StatusOr<ImageSet> LoadMnist(const std::string& folder, absl::string_view part) {
  const auto path = [&](absl::string_view what) {
    return PlainOrGzipped(absl::StrCat(folder, "/", part, "-", what));
  };
  return LoadIdx(path("images-idx3-ubyte"), path("labels-idx1-ubyte"));
}

// The batches whose names begin with one of `beginnings`, in the order of the names.
absl::StatusOr<ImageSet> LoadCifarBatches(const std::string& folder,
                                          const std::vector<std::string>& beginnings) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_batch = absl::EndsWith(absl::StripSuffix(name, ".gz"), ".bin");
    const bool is_wanted = std::any_of(
        beginnings.begin(), beginnings.end(),
        [&](const std::string& beginning) { return absl::StartsWith(name, beginning); });
    if (is_batch && is_wanted) paths.push_back(entry.path().string());
  }
  if (error) {
    return absl::NotFoundError(absl::StrCat(folder, ": cannot be read: ", error.message()));
  }
  if (paths.empty()) {
    return absl::NotFoundError(
        absl::StrCat(folder, ": has no batch of CIFAR-10; want ", beginnings[0], "*.bin"));
  }
  std::sort(paths.begin(), paths.end());
  return LoadCifar10(paths);
}

}  // namespace

absl::StatusOr<DataSetName> ParseDataSetName(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  DataSetName name;
  if (parts[0] == "digits" || parts[0] == "color_digits") {
    if (parts[0] == "color_digits") name.kind = DataSetKind::kColorDigits;
    constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
    if (parts.size() == 2 &&
        (!absl::SimpleAtoi(parts[1], &name.count) || name.count < 5 || name.count > kMost)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" asks for ", parts[1],
                                                     " digits; want a number from 5 to ", kMost));
    }
    return name;
  }
  if (parts.size() == 2 && !parts[1].empty() && (parts[0] == "mnist" || parts[0] == "cifar10")) {
    name.kind = parts[0] == "mnist" ? DataSetKind::kMnist : DataSetKind::kCifar10;
    name.folder = parts[1];
    return name;
  }
  return absl::NotFoundError(
      absl::StrCat("\"", text,
                   "\" is not a data set; want mnist:FOLDER, cifar10:FOLDER, digits[:N] or "
                   "color_digits[:N]"));
}

absl::StatusOr<ImageSet> LoadTrainingSet(const DataSetName& name) {
  switch (name.kind) {
    case DataSetKind::kMnist:
      return LoadMnist(name.folder, "train");
    case DataSetKind::kCifar10:
      return LoadCifarBatches(name.folder, {"data_batch", "train"});
    case DataSetKind::kColorDigits:
      return RenderColorDigits(name.count, kTrainingSeed);
    case DataSetKind::kDigits:
      break;
  }
  return RenderDigits(name.count, kTrainingSeed);
}

absl::StatusOr<ImageSet> LoadTestSet(const DataSetName& name) {
  switch (name.kind) {
    case DataSetKind::kMnist:
      return LoadMnist(name.folder, "t10k");
    case DataSetKind::kCifar10:
      return LoadCifarBatches(name.folder, {"test"});
    case DataSetKind::kColorDigits:
      return RenderColorDigits(name.count / 5, kTestSeed);
    case DataSetKind::kDigits:
      break;
  }
  return RenderDigits(name.count / 5, kTestSeed);
}

}  // namespace fixpoint
