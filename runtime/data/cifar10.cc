#include "runtime/data/cifar10.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"
#include "runtime/data/data_file.h"
#include "runtime/error_place.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

constexpr int64_t kChannels = 3;
constexpr int64_t kExtent = 32;
constexpr size_t kPixels = kChannels * kExtent * kExtent;
constexpr size_t kRecord = 1 + kPixels;
constexpr int kClasses = 10;

absl::Status CheckRecords(absl::string_view bytes) {
  if (bytes.empty()) {
    return absl::InvalidArgumentError("the file is empty; expected records of CIFAR-10");
  }
  for (size_t begin = 0; begin < bytes.size(); begin += kRecord) {
    if (bytes.size() - begin < kRecord) {
      return At(begin, absl::DataLossError(absl::StrCat("a record needs ", kRecord, " bytes, ",
                                                        bytes.size() - begin, " are left")));
    }
    const auto label = static_cast<uint8_t>(bytes[begin]);
    if (label >= kClasses) {
      return Malformed(begin,
                       absl::StrCat("the label is ", label, "; CIFAR-10 has 0 to ", kClasses - 1));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> LoadRecords(const std::string& path) {
  ASSIGN_OR_RETURN(std::string bytes, ReadDataFile(path));
  const absl::Status status = CheckRecords(bytes);
  if (!status.ok()) return Prefixed(absl::StrCat(InputName(path), ": "), status);
  return bytes;
}

}  // namespace

absl::StatusOr<ImageSet> LoadCifar10(const std::vector<std::string>& paths) {
  std::vector<std::string> batches;
  int64_t count = 0;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(batches.emplace_back(), LoadRecords(path));
    count += static_cast<int64_t>(batches.back().size() / kRecord);
  }
  ASSIGN_OR_RETURN(Tensor labels, Tensor::Allocate(VarType::INT64, {count}));
  ASSIGN_OR_RETURN(Tensor images,
                   Tensor::Allocate(VarType::UINT8, {count, kChannels, kExtent, kExtent}));
  auto label = labels.mutable_data<int64_t>().begin();
  auto pixel = images.mutable_data<uint8_t>().begin();
  for (std::string& batch : batches) {
    for (auto record = batch.begin(); record != batch.end(); record += kRecord) {
      *label++ = static_cast<uint8_t>(*record);
      pixel = std::copy(record + 1, record + kRecord, pixel);
    }
    // Its memory is free again before that of the next images is used.
    batch = std::string();
  }
  return ImageSet{std::move(images), std::move(labels)};
}

}  // namespace fixpoint
