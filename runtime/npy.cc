#include "runtime/npy.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/base/status_macros.h"
#include "proto/file/foreign_file.h"
#include "runtime/error_place.h"
#include "runtime/guarded_call.h"
#include "runtime/tensor_stream.h"

namespace fixpoint {
namespace {

constexpr absl::string_view kMagic = "\x93NUMPY";
// NumPy refuses longer headers unless it is told to accept them.
constexpr uint32_t kMaxHeaderBytes = 10000;
// Where the elements start, from NumPy 1.14 on.
constexpr size_t kAlignment = 64;

absl::Status IsNoArray(uint64_t position, absl::string_view beginning) {
  absl::string_view what = "";
  switch (FormatOf(beginning)) {
    case FileFormat::kPickle:
      what = " but a Python pickle; save the array with numpy.save";
      break;
    case FileFormat::kZip:
      what = " but a zip archive, as a .npz file is";
      break;
    case FileFormat::kGzip:
      what = " but gzipped; unpack it first";
      break;
    default:
      break;
  }
  return Malformed(position, absl::StrCat("this is not a NumPy array (.npy)", what));
}

absl::StatusOr<uint32_t> ReadHeaderLength(ByteReader& reader) {
  std::array<uint8_t, kMagic.size()> magic;
  const uint64_t magic_position = reader.position();
  RETURN_IF_ERROR(reader.Read("the magic string", absl::MakeSpan(magic)));
  const absl::string_view beginning(reinterpret_cast<const char*>(magic.data()), magic.size());
  if (beginning != kMagic) return IsNoArray(magic_position, beginning);
  const uint64_t version_position = reader.position();
  std::array<uint8_t, 2> version;
  RETURN_IF_ERROR(reader.Read("the version", absl::MakeSpan(version)));
  if (version[0] < 1 || version[0] > 3 || version[1] != 0) {
    return At(version_position,
              absl::UnimplementedError(absl::StrCat("the version is ", version[0], ".", version[1],
                                                    "; expected 1.0, 2.0 or 3.0")));
  }
  const uint64_t position = reader.position();
  uint32_t length;
  if (version[0] == 1) {
    ASSIGN_OR_RETURN(length, reader.ReadU16("the length of the header"));
  } else {
    ASSIGN_OR_RETURN(length, reader.ReadU32("the length of the header"));
  }
  if (length > kMaxHeaderBytes) {
    return Malformed(position, absl::StrCat("the header has ", length, " bytes; at most ",
                                            kMaxHeaderBytes, " are read"));
  }
  return length;
}

// The elements in C order, where those of `tensor` lie in Fortran order.
absl::StatusOr<Tensor> InCOrder(const Tensor& tensor) {
  const std::vector<int64_t>& dims = tensor.dims();
  ASSIGN_OR_RETURN(Tensor ordered, Tensor::Allocate(tensor.dtype(), dims));
  const size_t bytes = ElementSize(tensor.dtype());
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  std::vector<int64_t> index(dims.size(), 0);
  const uint8_t* const from = tensor.bytes().data();
  uint8_t* to = ordered.mutable_bytes().data();
  int64_t offset = 0;
  for (int64_t i = 0; i < tensor.size(); ++i, to += bytes) {
    std::memcpy(to, from + static_cast<size_t>(offset) * bytes, bytes);
    for (size_t axis = dims.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < dims[axis]) break;
      offset -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return ordered;
}

}  // namespace

absl::StatusOr<NpyHeader> ReadNpyHeader(ByteReader& reader) {
  ASSIGN_OR_RETURN(const uint32_t length, ReadHeaderLength(reader));
  const uint64_t position = reader.position();
  std::string text(length, '\0');
  RETURN_IF_ERROR(reader.Read("the header", {reinterpret_cast<uint8_t*>(&text[0]), text.size()}));
  ASSIGN_OR_RETURN(NpyHeader header, ParseNpyHeader(text, position));
  const absl::StatusOr<int64_t> bytes = TensorBytes(header.dtype, header.dims);
  if (!bytes.ok()) return At(position, bytes.status());
  return header;
}

absl::StatusOr<Tensor> ReadNpy(ByteReader& reader) {
  ASSIGN_OR_RETURN(NpyHeader header, ReadNpyHeader(reader));
  // With one extent, or none, both orders are the same.
  const bool reorder = header.fortran_order && header.dims.size() > 1;
  ASSIGN_OR_RETURN(Tensor tensor,
                   ReadTensorData({header.dtype, std::move(header.dims), /*lod=*/{}}, reader));
  if (reorder) return InCOrder(tensor);
  return tensor;
}

absl::StatusOr<Tensor> ReadWholeNpy(ByteReader& reader) {
  ASSIGN_OR_RETURN(Tensor tensor, ReadNpy(reader));
  ASSIGN_OR_RETURN(const bool at_end, reader.AtEnd());
  if (!at_end) return Malformed(reader.position(), "bytes follow the array; expected the end");
  return tensor;
}

absl::StatusOr<Tensor> LoadNpy(const std::string& path) {
  ASSIGN_OR_RETURN(ByteReader reader, ByteReader::Open(path));
  absl::StatusOr<Tensor> tensor = GuardedCall("the array", [&] { return ReadWholeNpy(reader); });
  if (!tensor.ok()) return Prefixed(absl::StrCat(path, ": "), tensor.status());
  return tensor;
}

absl::StatusOr<std::string> NpyPreamble(const Tensor& tensor) {
  if (!tensor.lod().empty()) {
    return absl::UnimplementedError(
        "the tensor has offsets of sequences, which a NumPy array cannot hold");
  }
  ASSIGN_OR_RETURN(std::string header, NpyHeaderText(tensor));
  constexpr size_t kBeforeHeader = kMagic.size() + 4;
  const size_t unpadded = kBeforeHeader + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header.push_back('\n');
  const size_t length = header.size();
  const char version_and_length[] = {1, 0, static_cast<char>(length),
                                     static_cast<char>(length >> 8)};
  return absl::StrCat(kMagic, absl::string_view(version_and_length, sizeof(version_and_length)),
                      header);
}

absl::StatusOr<std::string> NpyBytes(const Tensor& tensor) {
  ASSIGN_OR_RETURN(std::string file, NpyPreamble(tensor));
  const absl::Span<const uint8_t> bytes = tensor.bytes();
  file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return file;
}

}  // namespace fixpoint
