// One tensor as the reference writes it, to the byte. All numbers are little endian:
//
//   tensor        = u32 0, u64 lod levels, {u64 bytes of the level, u64 offset...}, plain
//   selected rows = u32 0, u64 rows, i64 row..., i64 height, plain
//   plain         = u32 0, i32 bytes of the description, VarType.TensorDesc, elements row major

#ifndef FIXPOINT_RUNTIME_TENSOR_STREAM_H_
#define FIXPOINT_RUNTIME_TENSOR_STREAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/wire/program.pb.h"
#include "runtime/byte_reader.h"
#include "runtime/memory.h"
#include "runtime/tensor.h"

namespace fixpoint {

// The description before the elements.
struct TensorHeader {
  VarType::Type dtype;
  std::vector<int64_t> dims;
  LoD lod;
};

struct SelectedRowsHeader {
  std::vector<int64_t> rows;
  int64_t height;
  TensorHeader value;
};

// Error (kInvalidArgument) for offsets that do not cut a tensor of these extents into sequences:
// they start at 0 and ascend, and the last is the number of sequences of the next level, in the
// last level the number of rows.
absl::Status CheckLod(const LoD& lod, const std::vector<int64_t>& dims);

// A tensor is read in two steps, so that a caller can refuse it by its header; no step takes more
// memory than it has found bytes. Errors name the byte ("byte 12: ..."):
//   kDataLoss         the bytes end too early
//   kInvalidArgument  they are no such stream, or contradict each other: a version other than 0,
//                     an unknown data type, a negative extent, more than kMaxRank extents, offsets
//                     or row ids out of range, a BOOL other than 0 and 1, another known format (a
//                     pickle)
// Elements are placed in the memory of the block, while some is left.
absl::StatusOr<TensorHeader> ReadTensorHeader(ByteReader& reader);
absl::StatusOr<Tensor> ReadTensorData(TensorHeader header, ByteReader& reader,
                                      MemoryBlock* block = nullptr);

absl::StatusOr<SelectedRowsHeader> ReadSelectedRowsHeader(ByteReader& reader);
absl::StatusOr<SelectedRows> ReadSelectedRowsData(SelectedRowsHeader header, ByteReader& reader);

// The bytes before the elements; these follow as in Tensor::bytes().
std::string TensorStreamHeader(const Tensor& tensor);
std::string SelectedRowsStreamHeader(const SelectedRows& selected);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TENSOR_STREAM_H_
