#include "runtime/data/stored_array.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/byte_reader.h"
#include "runtime/error_place.h"
#include "runtime/guarded_call.h"
#include "runtime/npy.h"

namespace fixpoint {
namespace {

std::string SystemError(int error) {
  return std::error_code(error, std::generic_category()).message();
}

struct CloseDescriptor {
  void operator()(const int* descriptor) const {
    close(*descriptor);
    delete descriptor;
  }
};

// Error: the elements, which begin at the reader's position, are not all there, or something
// follows them.
absl::Status CheckLength(ByteReader& reader, const NpyHeader& header) {
  ASSIGN_OR_RETURN(const int64_t size, TensorBytes(header.dtype, header.dims));
  const auto bytes = static_cast<uint64_t>(size);
  RETURN_IF_ERROR(reader.Expect("the data", bytes));
  if (*reader.left() == bytes) return absl::OkStatus();
  return Malformed(reader.position() + bytes, "bytes follow the array; expected the end");
}

absl::Status ReadAt(int file, uint64_t position, absl::Span<uint8_t> out) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        pread(file, out.data() + done, out.size() - done, static_cast<off_t>(position + done));
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (got == 0 || errno != EINTR) {
      const std::string why =
          got == 0 ? "the file was cut since it was opened" : SystemError(errno);
      return At(position + done, absl::DataLossError(absl::StrCat("cannot be read: ", why)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

StoredArray::StoredArray(std::string place, Tensor tensor)
    : place_(std::move(place)),
      dtype_(tensor.dtype()),
      dims_(tensor.dims()),
      tensor_(std::make_shared<const Tensor>(std::move(tensor))) {}

StoredArray::StoredArray(std::string path, VarType::Type dtype, std::vector<int64_t> dims)
    : place_(std::move(path)), dtype_(dtype), dims_(std::move(dims)) {}

absl::StatusOr<StoredArray> StoredArray::Open(const std::string& path) {
  ASSIGN_OR_RETURN(ByteReader reader, ByteReader::Open(path));
  const auto in_file = [&path](const absl::Status& error) {
    return Prefixed(absl::StrCat(path, ": "), error);
  };
  if (!reader.left().has_value()) {
    absl::StatusOr<Tensor> whole = GuardedCall("the array", [&] { return ReadWholeNpy(reader); });
    if (!whole.ok()) return in_file(whole.status());
    return StoredArray(path, *std::move(whole));
  }
  const absl::StatusOr<NpyHeader> header = ReadNpyHeader(reader);
  if (!header.ok()) return in_file(header.status());
  // With one extent, or none, both orders are the same.
  if (header->fortran_order && header->dims.size() > 1) {
    ASSIGN_OR_RETURN(Tensor whole, LoadNpy(path));
    return StoredArray(path, std::move(whole));
  }
  const absl::Status length = CheckLength(reader, *header);
  if (!length.ok()) return in_file(length);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return in_file(absl::InvalidArgumentError(
        absl::StrCat("cannot be opened for reading: ", SystemError(errno))));
  }
  StoredArray array(path, header->dtype, header->dims);
  array.elements_at_ = reader.position();
  array.file_ = std::shared_ptr<const int>(new int(descriptor), CloseDescriptor());
  return array;
}

absl::Status StoredArray::ReadRows(int64_t begin, int64_t end, absl::Span<uint8_t> out) const {
  if (begin == end || out.empty()) return absl::OkStatus();
  const uint64_t row_bytes = out.size() / static_cast<uint64_t>(end - begin);
  const uint64_t first = static_cast<uint64_t>(begin) * row_bytes;
  if (tensor_ != nullptr) {
    std::memcpy(out.data(), tensor_->bytes().data() + first, out.size());
    return absl::OkStatus();
  }
  const absl::Status read = ReadAt(*file_, elements_at_ + first, out);
  if (!read.ok()) return Prefixed(absl::StrCat(place_, ": "), read);
  if (dtype_ != VarType::BOOL) return absl::OkStatus();
  const auto* const bad =
      std::find_if(out.begin(), out.end(), [](uint8_t byte) { return byte > 1; });
  if (bad == out.end()) return absl::OkStatus();
  return Prefixed(absl::StrCat(place_, ": "),
                  Malformed(elements_at_ + first + static_cast<uint64_t>(bad - out.begin()),
                            absl::StrCat("a BOOL is ", *bad, ", neither 0 nor 1")));
}

absl::StatusOr<Tensor> StoredArray::Read() const {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype_, dims_));
  RETURN_IF_ERROR(ReadRows(0, dims_.empty() ? 1 : dims_[0], tensor.mutable_bytes()));
  return tensor;
}

}  // namespace fixpoint
