#include "runtime/data/idx.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"
#include "runtime/byte_reader.h"
#include "runtime/data/data_file.h"
#include "runtime/error_place.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

constexpr uint8_t kTypeOfBytes = 8;
constexpr size_t kImagesRank = 3;

absl::StatusOr<int64_t> ReadExtent(ByteReader& reader) {
  std::array<uint8_t, 4> bytes;
  RETURN_IF_ERROR(reader.Read("an extent", absl::MakeSpan(bytes)));
  int64_t extent = 0;
  for (const uint8_t byte : bytes) extent = extent << 8 | byte;
  return extent;
}

// The extents of a file that holds `what`, which have `rank` of them.
absl::StatusOr<std::vector<int64_t>> ReadHeader(absl::string_view what, size_t rank,
                                                ByteReader& reader) {
  std::array<uint8_t, 4> magic;
  RETURN_IF_ERROR(reader.Read("the magic number", absl::MakeSpan(magic)));
  if (magic[0] != 0 || magic[1] != 0) {
    return Malformed(0, absl::StrCat("this is not an idx file; expected 0 0 8 ", rank,
                                     " as the first bytes of ", what));
  }
  if (magic[2] != kTypeOfBytes) {
    return At(2, absl::UnimplementedError(absl::StrCat("the type of the elements is ", magic[2],
                                                       "; expected ", kTypeOfBytes, ", a byte")));
  }
  if (magic[3] != rank) {
    return Malformed(3, absl::StrCat("there are ", magic[3], " extents; ", what, " have ", rank,
                                     rank == 1 ? "; are these the images?" : ""));
  }
  std::vector<int64_t> dims;
  while (dims.size() < rank) {
    ASSIGN_OR_RETURN(dims.emplace_back(), ReadExtent(reader));
  }
  return dims;
}

// The bytes of a file from front to end. A plane of pixels is an image of one channel.
absl::StatusOr<Tensor> ReadBytes(absl::string_view what, size_t rank, ByteReader& reader) {
  ASSIGN_OR_RETURN(std::vector<int64_t> dims, ReadHeader(what, rank, reader));
  const absl::StatusOr<int64_t> bytes = TensorBytes(VarType::UINT8, dims);
  if (!bytes.ok()) return At(4, bytes.status());
  RETURN_IF_ERROR(reader.Expect("the data", static_cast<uint64_t>(*bytes)));
  std::vector<int64_t> tensor_dims = dims;
  if (rank == kImagesRank) tensor_dims.insert(tensor_dims.begin() + 1, 1);
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(VarType::UINT8, std::move(tensor_dims)));
  RETURN_IF_ERROR(reader.Read("the data", tensor.mutable_bytes()));
  ASSIGN_OR_RETURN(const bool at_end, reader.AtEnd());
  if (!at_end) {
    return Malformed(reader.position(), absl::StrCat("bytes follow ", what, " ", DimsText(dims),
                                                     "; expected the end"));
  }
  return tensor;
}

absl::StatusOr<Tensor> LoadBytes(absl::string_view what, size_t rank, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadDataFile(path));
  ByteReader reader = ByteReader::Over(bytes);
  absl::StatusOr<Tensor> tensor = ReadBytes(what, rank, reader);
  if (!tensor.ok()) return Prefixed(absl::StrCat(InputName(path), ": "), tensor.status());
  return tensor;
}

}  // namespace

absl::StatusOr<ImageSet> LoadIdx(const std::string& images_path, const std::string& labels_path) {
  ASSIGN_OR_RETURN(const Tensor label_bytes, LoadBytes("the labels", 1, labels_path));
  ASSIGN_OR_RETURN(Tensor images, LoadBytes("the images", kImagesRank, images_path));
  const int64_t count = images.dims()[0];
  if (label_bytes.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        InputName(labels_path), ": there are ", label_bytes.size(), " labels; expected ", count,
        ", one for each image of ", InputName(images_path)));
  }
  ASSIGN_OR_RETURN(Tensor labels, Tensor::Allocate(VarType::INT64, {count}));
  const absl::Span<const uint8_t> classes = label_bytes.data<uint8_t>();
  std::copy(classes.begin(), classes.end(), labels.mutable_data<int64_t>().begin());
  return ImageSet{std::move(images), std::move(labels)};
}

}  // namespace fixpoint
