#include "tests/testing/npy.h"

#include <glog/logging.h>

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

// What stands between `before` and `after` in the header.
absl::string_view Between(absl::string_view header, absl::string_view before, char after) {
  const size_t begin = header.find(before);
  CHECK_NE(begin, absl::string_view::npos) << header;
  const absl::string_view rest = header.substr(begin + before.size());
  return rest.substr(0, rest.find(after));
}

}  // namespace

// Magic, version, the header's length in 2 bytes, the header: a Python dictionary; the elements.
Tensor LoadNpyOrDie(const std::string& path) {
  constexpr size_t kHeader = 10;
  const std::string bytes = ReadFileOrDie(path);
  CHECK(absl::StartsWith(bytes, absl::string_view("\x93NUMPY\x01", 7))) << path;
  const size_t length =
      static_cast<uint8_t>(bytes[8]) + 256 * static_cast<size_t>(static_cast<uint8_t>(bytes[9]));
  const absl::string_view header = absl::string_view(bytes).substr(kHeader, length);
  const absl::string_view type = Between(header, "'descr': '", '\'');
  CHECK(type == "<f4" || type == "<i8") << path << ": " << header;
  CHECK(absl::StrContains(header, "'fortran_order': False")) << path;
  std::vector<int64_t> dims;
  for (const absl::string_view extent : absl::StrSplit(Between(header, "'shape': (", ')'),
                                                       absl::ByAnyChar(", "), absl::SkipEmpty())) {
    CHECK(absl::SimpleAtoi(extent, &dims.emplace_back())) << path << ": " << header;
  }
  absl::StatusOr<Tensor> tensor =
      Tensor::Allocate(type == "<f4" ? VarType::FP32 : VarType::INT64, std::move(dims));
  CHECK(tensor.ok()) << tensor.status();
  const auto elements = tensor->mutable_bytes();
  CHECK_EQ(bytes.size(), kHeader + length + elements.size()) << path;
  std::memcpy(elements.data(), bytes.data() + kHeader + length, elements.size());
  return *std::move(tensor);
}

}  // namespace fixpoint
