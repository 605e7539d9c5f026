#include "runtime/tensor_stream.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/file/foreign_file.h"
#include "runtime/error_place.h"

namespace fixpoint {
namespace {

// Extents of a tensor in the reference.
constexpr int kMaxRank = 9;
// Bytes that describe one: the data type, and a tag and ten bytes at most for each extent.
constexpr int32_t kMaxDescriptionBytes = 11 + 11 * kMaxRank;
// Nested sequences; real programs have one or two levels.
constexpr uint64_t kMaxLodLevels = 64;

// What kind of file starts with `word`, if it is not a tensor stream, and what to do about it; ""
// if that is not known.
absl::string_view ForeignFormat(uint32_t word) {
  const char bytes[] = {static_cast<char>(word), static_cast<char>(word >> 8),
                        static_cast<char>(word >> 16), static_cast<char>(word >> 24)};
  switch (FormatOf(absl::string_view(bytes, sizeof(bytes)))) {
    case FileFormat::kPickle:
      return "a Python pickle (.pdparams, .pdopt); load it in the reference and save it there as a "
             "parameter file (save_inference_model, save_vars)";
    case FileFormat::kProgram:
      return "a program; give the parameter file that was saved with it";
    case FileFormat::kZip:
      return "a zip archive; unpack it first";
    case FileFormat::kGzip:
      return "gzipped; unpack it first";
    case FileFormat::kNumpy:
      return "a NumPy array (.npy)";
    case FileFormat::kUnknown:
    case FileFormat::kTensorStream:
      break;
  }
  return "";
}

absl::Status ReadVersion(ByteReader& reader) {
  const uint64_t position = reader.position();
  ASSIGN_OR_RETURN(const uint32_t version, reader.ReadU32("the version"));
  if (version == 0) return absl::OkStatus();
  const absl::string_view format = position == 0 ? ForeignFormat(version) : "";
  if (!format.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("byte 0: this is not a parameter file but ", format));
  }
  return Malformed(position, absl::StrCat("the version is ", version, "; only 0 is known"));
}

// Reads `count` numbers of 8 bytes.
template <typename T>
absl::StatusOr<std::vector<T>> ReadNumbers(absl::string_view what, uint64_t count,
                                           ByteReader& reader) {
  static_assert(sizeof(T) == 8, "");
  if (count > UINT64_MAX / sizeof(T)) {
    return Malformed(reader.position(), absl::StrCat(what, " has ", count, " numbers"));
  }
  RETURN_IF_ERROR(reader.Expect(what, count * sizeof(T)));
  std::vector<T> numbers(count);
  RETURN_IF_ERROR(
      reader.Read(what, {reinterpret_cast<uint8_t*>(numbers.data()), numbers.size() * sizeof(T)}));
  return numbers;
}

absl::StatusOr<LoD> ReadLod(ByteReader& reader) {
  const uint64_t position = reader.position();
  ASSIGN_OR_RETURN(const uint64_t levels, reader.ReadU64("the number of LoD levels"));
  if (levels > kMaxLodLevels) {
    return Malformed(position, absl::StrCat("the number of LoD levels is ", levels, "; at most ",
                                            kMaxLodLevels, " are read"));
  }
  LoD lod;
  for (uint64_t level = 0; level < levels; ++level) {
    const uint64_t level_position = reader.position();
    ASSIGN_OR_RETURN(const uint64_t bytes, reader.ReadU64("the size of a LoD level"));
    if (bytes % sizeof(uint64_t) != 0) {
      return Malformed(level_position, absl::StrCat("LoD level ", level, " has ", bytes,
                                                    " bytes, not a multiple of 8"));
    }
    ASSIGN_OR_RETURN(
        std::vector<uint64_t> offsets,
        ReadNumbers<uint64_t>("the list of LoD offsets", bytes / sizeof(uint64_t), reader));
    lod.push_back(std::move(offsets));
  }
  return lod;
}

absl::StatusOr<TensorHeader> ReadPlainHeader(ByteReader& reader) {
  RETURN_IF_ERROR(ReadVersion(reader));
  const uint64_t size_position = reader.position();
  ASSIGN_OR_RETURN(const uint32_t unsigned_size,
                   reader.ReadU32("the size of the tensor's description"));
  const auto size = static_cast<int32_t>(unsigned_size);
  if (size < 0 || size > kMaxDescriptionBytes) {
    return Malformed(size_position,
                     absl::StrCat("the tensor's description has ", size, " bytes; 2 to ",
                                  kMaxDescriptionBytes, " are possible"));
  }
  const uint64_t position = reader.position();
  std::string bytes(static_cast<size_t>(size), '\0');
  RETURN_IF_ERROR(reader.Read("the tensor's description",
                              {reinterpret_cast<uint8_t*>(&bytes[0]), bytes.size()}));
  VarType::TensorDesc description;
  if (!description.ParsePartialFromString(bytes)) {
    return Malformed(position, "the tensor's description is not a TensorDesc message");
  }
  // An enumerator that the messages do not have ends among the unknown fields.
  const auto& unknown = description.unknown_fields();
  if (unknown.field_count() > 0) {
    const auto& field = unknown.field(0);
    if (field.number() == VarType::TensorDesc::kDataTypeFieldNumber &&
        field.type() == google::protobuf::UnknownField::TYPE_VARINT) {
      return Malformed(position, absl::StrCat("the data type ",
                                              static_cast<int64_t>(field.varint()), " is unknown"));
    }
    return Malformed(
        position, absl::StrCat("the tensor's description has an unknown field ", field.number()));
  }
  if (!description.has_data_type()) {
    return Malformed(position, "the tensor's description has no data type");
  }
  if (description.dims_size() > kMaxRank) {
    return Malformed(position, absl::StrCat("the tensor has ", description.dims_size(),
                                            " dims; the reference has at most ", kMaxRank));
  }
  TensorHeader header = {
      description.data_type(), {description.dims().begin(), description.dims().end()}, {}};
  const absl::StatusOr<int64_t> data_bytes = TensorBytes(header.dtype, header.dims);
  if (!data_bytes.ok()) return At(position, data_bytes.status());
  return header;
}

void AppendNumber(uint64_t number, size_t bytes, std::string* out) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(number >> (8 * i)));
}

void AppendPlainHeader(const Tensor& tensor, std::string* out) {
  VarType::TensorDesc description;
  description.set_data_type(tensor.dtype());
  for (const int64_t extent : tensor.dims()) description.add_dims(extent);
  AppendNumber(0, sizeof(uint32_t), out);
  AppendNumber(description.ByteSizeLong(), sizeof(int32_t), out);
  out->append(description.SerializeAsString());
}

}  // namespace

absl::Status CheckLod(const LoD& lod, const std::vector<int64_t>& dims) {
  for (size_t level = 0; level < lod.size(); ++level) {
    const std::vector<uint64_t>& offsets = lod[level];
    const std::string name = absl::StrCat("LoD level ", level);
    if (offsets.empty() || offsets.front() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(name, " does not start with the offset 0"));
    }
    for (size_t i = 1; i < offsets.size(); ++i) {
      if (offsets[i] < offsets[i - 1]) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " descends from the offset ", offsets[i - 1], " to ", offsets[i]));
      }
    }
    const bool is_last = level + 1 == lod.size();
    const uint64_t covered =
        is_last ? (dims.empty() ? 1 : static_cast<uint64_t>(dims[0])) : lod[level + 1].size() - 1;
    if (offsets.back() != covered) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " ends at ", offsets.back(), "; there are ", covered,
                       is_last ? " rows" : " sequences in the next level"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorHeader> ReadTensorHeader(ByteReader& reader) {
  RETURN_IF_ERROR(ReadVersion(reader));
  const uint64_t lod_position = reader.position();
  ASSIGN_OR_RETURN(LoD lod, ReadLod(reader));
  ASSIGN_OR_RETURN(TensorHeader header, ReadPlainHeader(reader));
  const absl::Status lod_status = CheckLod(lod, header.dims);
  if (!lod_status.ok()) return At(lod_position, lod_status);
  header.lod = std::move(lod);
  return header;
}

absl::StatusOr<Tensor> ReadTensorData(TensorHeader header, ByteReader& reader, MemoryBlock* block) {
  const uint64_t position = reader.position();
  ASSIGN_OR_RETURN(const int64_t bytes, TensorBytes(header.dtype, header.dims));
  RETURN_IF_ERROR(reader.Expect("the data", static_cast<uint64_t>(bytes)));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(header.dtype, std::move(header.dims), block));
  tensor.set_lod(std::move(header.lod));
  RETURN_IF_ERROR(reader.Read("the data", tensor.mutable_bytes()));
  if (tensor.dtype() == VarType::BOOL) {
    const absl::Span<const uint8_t> values = std::as_const(tensor).bytes();
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] > 1) {
        return Malformed(position + i, absl::StrCat("a BOOL is ", values[i], ", neither 0 nor 1"));
      }
    }
  }
  return tensor;
}

absl::StatusOr<SelectedRowsHeader> ReadSelectedRowsHeader(ByteReader& reader) {
  SelectedRowsHeader header;
  RETURN_IF_ERROR(ReadVersion(reader));
  ASSIGN_OR_RETURN(const uint64_t count, reader.ReadU64("the number of rows"));
  const uint64_t rows_position = reader.position();
  ASSIGN_OR_RETURN(header.rows, ReadNumbers<int64_t>("the list of row ids", count, reader));
  const uint64_t height_position = reader.position();
  ASSIGN_OR_RETURN(const uint64_t height, reader.ReadU64("the height"));
  header.height = static_cast<int64_t>(height);
  if (header.height < 0) {
    return Malformed(height_position, absl::StrCat("the height ", header.height, " is negative"));
  }
  for (size_t i = 0; i < header.rows.size(); ++i) {
    if (header.rows[i] < 0 || header.rows[i] >= header.height) {
      return Malformed(
          rows_position + i * sizeof(int64_t),
          absl::StrCat("the row id ", header.rows[i], " is not one of ", header.height, " rows"));
    }
  }
  const uint64_t value_position = reader.position();
  ASSIGN_OR_RETURN(header.value, ReadPlainHeader(reader));
  if (header.value.dims.empty() || static_cast<uint64_t>(header.value.dims[0]) != count) {
    return Malformed(value_position,
                     absl::StrCat("the dims of the rows are ", DimsText(header.value.dims),
                                  "; there are ", count, " row ids"));
  }
  return header;
}

absl::StatusOr<SelectedRows> ReadSelectedRowsData(SelectedRowsHeader header, ByteReader& reader) {
  ASSIGN_OR_RETURN(Tensor value, ReadTensorData(std::move(header.value), reader));
  return SelectedRows{std::move(header.rows), header.height, std::move(value)};
}

std::string TensorStreamHeader(const Tensor& tensor) {
  std::string out;
  AppendNumber(0, sizeof(uint32_t), &out);
  AppendNumber(tensor.lod().size(), sizeof(uint64_t), &out);
  for (const std::vector<uint64_t>& offsets : tensor.lod()) {
    AppendNumber(offsets.size() * sizeof(uint64_t), sizeof(uint64_t), &out);
    for (const uint64_t offset : offsets) AppendNumber(offset, sizeof(uint64_t), &out);
  }
  AppendPlainHeader(tensor, &out);
  return out;
}

std::string SelectedRowsStreamHeader(const SelectedRows& selected) {
  std::string out;
  AppendNumber(0, sizeof(uint32_t), &out);
  AppendNumber(selected.rows.size(), sizeof(uint64_t), &out);
  for (const int64_t row : selected.rows) {
    AppendNumber(static_cast<uint64_t>(row), sizeof(int64_t), &out);
  }
  AppendNumber(static_cast<uint64_t>(selected.height), sizeof(int64_t), &out);
  AppendPlainHeader(selected.value, &out);
  return out;
}

}  // namespace fixpoint
