// Streams, byte for byte, and errors for other bytes. Two of them were written by the reference: a
// bias of zeros, and the description of a filter [2,1,3,3].

#include "runtime/tensor_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "tests/testing/hex_bytes.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Bytes(const Tensor& tensor) {
  const absl::Span<const uint8_t> bytes = tensor.bytes();
  return {bytes.begin(), bytes.end()};
}

absl::StatusOr<Tensor> ReadTensor(absl::string_view bytes) {
  ByteReader reader = ByteReader::Over(bytes);
  ASSIGN_OR_RETURN(TensorHeader header, ReadTensorHeader(reader));
  return ReadTensorData(std::move(header), reader);
}

absl::StatusOr<SelectedRows> ReadSelectedRows(absl::string_view bytes) {
  ByteReader reader = ByteReader::Over(bytes);
  ASSIGN_OR_RETURN(SelectedRowsHeader header, ReadSelectedRowsHeader(reader));
  return ReadSelectedRowsData(std::move(header), reader);
}

struct StreamCase {
  std::string name;
  std::string hex;
  Tensor tensor;
};

std::vector<StreamCase> StreamCases() {
  std::vector<StreamCase> cases;
  const auto add = [&](std::string name, std::string hex, Tensor tensor) {
    cases.push_back({std::move(name), std::move(hex), std::move(tensor)});
  };
  add("Fp32", "00000000 0000000000000000 00000000 04000000 08051002 00000000 00000000",
      Tensor::FromValues<float>({2}, {0, 0}));
  add("FourDims",
      "00000000 0000000000000000 00000000 0a000000 08151002 100110031003"
      "000102030405060708090a0b0c0d0e0f10ff",
      Tensor::FromValues<int8_t>({2, 1, 3, 3},
                                 {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, -1}));
  add("Scalar", "00000000 0000000000000000 00000000 02000000 0805 0000803f",
      Tensor::FromValues<float>({}, {1}));
  add("Empty", "00000000 0000000000000000 00000000 06000000 0805 1000 1003",
      Tensor::FromValues<float>({0, 3}, {}));
  add("Bool", "00000000 0000000000000000 00000000 04000000 0800 1002 0100",
      Tensor::FromValues<bool>({2}, {true, false}));
  add("Uint8", "00000000 0000000000000000 00000000 04000000 0814 1001 ff",
      Tensor::FromValues<uint8_t>({1}, {255}));
  add("Int16", "00000000 0000000000000000 00000000 04000000 0801 1001 feff",
      Tensor::FromValues<int16_t>({1}, {-2}));
  add("Int32", "00000000 0000000000000000 00000000 04000000 0802 1001 04030201",
      Tensor::FromValues<int32_t>({1}, {0x01020304}));
  add("Int64", "00000000 0000000000000000 00000000 04000000 0803 1001 0807060504030201",
      Tensor::FromValues<int64_t>({1}, {0x0102030405060708}));
  add("SizeT", "00000000 0000000000000000 00000000 04000000 0813 1001 0100000000000080",
      Tensor::FromValues<uint64_t>({1}, {0x8000000000000001}));
  add("Fp64", "00000000 0000000000000000 00000000 04000000 0806 1001 000000000000f0bf",
      Tensor::FromValues<double>({1}, {-1}));
  add("Complex64", "00000000 0000000000000000 00000000 04000000 0817 1001 0000803f 000000c0",
      Tensor::FromValues<std::complex<float>>({1}, {{1, -2}}));
  add("Complex128",
      "00000000 0000000000000000 00000000 04000000 0818 1001 000000000000f03f 00000000000000c0",
      Tensor::FromValues<std::complex<double>>({1}, {{1, -2}}));
  for (const VarType::Type half : {VarType::FP16, VarType::BF16}) {
    Tensor tensor = *Tensor::Allocate(half, {1});
    tensor.mutable_bytes()[0] = 0x34;
    tensor.mutable_bytes()[1] = 0x12;
    add(VarType::Type_Name(half),
        absl::StrCat("00000000 0000000000000000 00000000 04000000 ",
                     half == VarType::FP16 ? "0804" : "0816", " 1001 3412"),
        std::move(tensor));
  }
  Tensor sequences = Tensor::FromValues<uint8_t>({3}, {7, 8, 9});
  sequences.set_lod({{0, 2}, {0, 1, 3}});
  add("Lod",
      "00000000 0200000000000000"
      "1000000000000000 0000000000000000 0200000000000000"
      "1800000000000000 0000000000000000 0100000000000000 0300000000000000"
      "00000000 04000000 0814 1003 070809",
      std::move(sequences));
  return cases;
}

TEST(TensorStream, IsReadAndWrittenToTheByte) {
  for (const StreamCase& c : StreamCases()) {
    SCOPED_TRACE(c.name);
    const std::string stream = HexBytes(c.hex);
    EXPECT_EQ(TensorStreamHeader(c.tensor) + Bytes(c.tensor), stream);
    const absl::StatusOr<Tensor> read = ReadTensor(stream);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->dtype(), c.tensor.dtype());
    EXPECT_EQ(read->dims(), c.tensor.dims());
    EXPECT_EQ(read->lod(), c.tensor.lod());
    EXPECT_EQ(Bytes(*read), Bytes(c.tensor));
  }
}

TEST(TensorStream, EveryPrefixIsTruncated) {
  for (const StreamCase& c : StreamCases()) {
    const std::string stream = HexBytes(c.hex);
    for (size_t size = 0; size < stream.size(); ++size) {
      EXPECT_EQ(ReadTensor(stream.substr(0, size)).status().code(), absl::StatusCode::kDataLoss)
          << c.name << ", the first " << size << " bytes";
    }
  }
}

TEST(TensorStream, PackedDimsAreRead) {
  const absl::StatusOr<Tensor> tensor =
      ReadTensor(HexBytes("00000000 0000000000000000 00000000 06000000 0815 12020102 0304"));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->dims(), ElementsAre(1, 2));
  EXPECT_THAT(tensor->data<int8_t>(), ElementsAre(3, 4));
}

TEST(SelectedRowsStream, IsReadAndWrittenToTheByte) {
  const std::string stream = HexBytes(
      "00000000 0200000000000000 0400000000000000 0100000000000000 0500000000000000"
      "00000000 06000000 0815 1002 1003 010203fdfeff");
  const absl::StatusOr<SelectedRows> read = ReadSelectedRows(stream);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->rows, ElementsAre(4, 1));
  EXPECT_EQ(read->height, 5);
  EXPECT_THAT(read->value.dims(), ElementsAre(2, 3));
  EXPECT_THAT(read->value.data<int8_t>(), ElementsAre(1, 2, 3, -3, -2, -1));
  EXPECT_EQ(SelectedRowsStreamHeader(*read) + Bytes(read->value), stream);
}

TEST(SelectedRowsStream, NoRowsAreRead) {
  const absl::StatusOr<SelectedRows> read = ReadSelectedRows(
      HexBytes("00000000 0000000000000000 0500000000000000 00000000 06000000 0805 1000 1003"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->rows, IsEmpty());
}

struct BadStream {
  std::string hex;
  absl::Status status;
};

TEST(TensorStream, SaysWhatIsWrong) {
  using absl::DataLossError;
  using absl::InvalidArgumentError;
  const std::string start = "00000000 0000000000000000 00000000 ";
  const BadStream cases[] = {
      // The version.
      {"", DataLossError("byte 0: the version needs 4 bytes, 0 are left")},
      {"000000", DataLossError("byte 0: the version needs 4 bytes, 3 are left")},
      {"01000000", InvalidArgumentError("byte 0: the version is 1; only 0 is known")},
      {"00000000 0000000000000000 02000000",
       InvalidArgumentError("byte 12: the version is 2; only 0 is known")},
      // Other formats.
      {"8002637f",
       InvalidArgumentError("byte 0: this is not a parameter file but a Python pickle (.pdparams, "
                            ".pdopt); load it in the reference and save it there as a parameter "
                            "file (save_inference_model, save_vars)")},
      {"800495ff",
       InvalidArgumentError("byte 0: this is not a parameter file but a Python pickle (.pdparams, "
                            ".pdopt); load it in the reference and save it there as a parameter "
                            "file (save_inference_model, save_vars)")},
      {"0a810b0a", InvalidArgumentError(
                       "byte 0: this is not a parameter file but a program; give the parameter "
                       "file that was saved with it")},
      {"504b0304", InvalidArgumentError("byte 0: this is not a parameter file but a zip archive; "
                                        "unpack it first")},
      {"1f8b0800",
       InvalidArgumentError("byte 0: this is not a parameter file but gzipped; unpack it first")},
      {"934e554d",
       InvalidArgumentError("byte 0: this is not a parameter file but a NumPy array (.npy)")},
      // Levels of detail.
      {"00000000 00000000", DataLossError("byte 4: the number of LoD levels needs 8 bytes, 4 are "
                                          "left")},
      {"00000000 4100000000000000",
       InvalidArgumentError("byte 4: the number of LoD levels is 65; at most 64 are read")},
      {"00000000 ffffffffffffffff",
       InvalidArgumentError("byte 4: the number of LoD levels is 18446744073709551615; at most 64 "
                            "are read")},
      {"00000000 0100000000000000 0700000000000000",
       InvalidArgumentError("byte 12: LoD level 0 has 7 bytes, not a multiple of 8")},
      {"00000000 0100000000000000 f8ffffffffffffff",
       DataLossError(
           "byte 20: the list of LoD offsets needs 18446744073709551608 bytes, 0 are left")},
      {"00000000 0100000000000000 0000000000000000 00000000 04000000 0814 1001 07",
       InvalidArgumentError("byte 4: LoD level 0 does not start with the offset 0")},
      {"00000000 0100000000000000 0800000000000000 0100000000000000"
       "00000000 04000000 0814 1001 07",
       InvalidArgumentError("byte 4: LoD level 0 does not start with the offset 0")},
      {"00000000 0100000000000000 1800000000000000 0000000000000000 0200000000000000"
       "0100000000000000 00000000 04000000 0814 1001 07",
       InvalidArgumentError("byte 4: LoD level 0 descends from the offset 2 to 1")},
      {"00000000 0100000000000000 1000000000000000 0000000000000000 0300000000000000"
       "00000000 04000000 0814 1001 07",
       InvalidArgumentError("byte 4: LoD level 0 ends at 3; there are 1 rows")},
      {"00000000 0200000000000000 1000000000000000 0000000000000000 0300000000000000"
       "1000000000000000 0000000000000000 0100000000000000 00000000 04000000 0814 1001 07",
       InvalidArgumentError(
           "byte 4: LoD level 0 ends at 3; there are 1 sequences in the next level")},
      // The description.
      {start + "ffffffff",
       InvalidArgumentError(
           "byte 16: the tensor's description has -1 bytes; 2 to 110 are possible")},
      {start + "ffffff7f",
       InvalidArgumentError(
           "byte 16: the tensor's description has 2147483647 bytes; 2 to 110 are possible")},
      {start + "06000000 0805",
       DataLossError("byte 20: the tensor's description needs 6 bytes, 2 are left")},
      {start + "00000000",
       InvalidArgumentError("byte 20: the tensor's description has no data type")},
      {start + "02000000 1002",
       InvalidArgumentError("byte 20: the tensor's description has no data type")},
      {start + "02000000 08ff",
       InvalidArgumentError("byte 20: the tensor's description is not a TensorDesc message")},
      {start + "02000000 0863", InvalidArgumentError("byte 20: the data type 99 is unknown")},
      {start + "0b000000 08ffffffffffffffffff01",
       InvalidArgumentError("byte 20: the data type -1 is unknown")},
      {start + "02000000 0807",
       InvalidArgumentError("byte 20: data type LOD_TENSOR is not one of tensor elements")},
      {start + "04000000 0805 1801",
       InvalidArgumentError("byte 20: the tensor's description has an unknown field 3")},
      {start + "16000000 0805 1001100110011001100110011001100110011001",
       InvalidArgumentError("byte 20: the tensor has 10 dims; the reference has at most 9")},
      {start + "0d000000 0805 10ffffffffffffffffff01",
       InvalidArgumentError("byte 20: dims [-1]: the extent -1 is negative")},
      {start + "16000000 0805 10ffffffffffffffff7f 10ffffffffffffffff7f",
       InvalidArgumentError("byte 20: dims [9223372036854775807, 9223372036854775807]: the number "
                            "of elements exceeds 2^63 - 1")},
      {start + "0c000000 0805 10ffffffffffffffff7f",
       InvalidArgumentError(
           "byte 20: dims [9223372036854775807]: the number of bytes exceeds 2^63 - 1")},
      // The data.
      {start + "0c000000 0815 10ffffffffffffffff7f",
       DataLossError("byte 32: the data needs 9223372036854775807 bytes, 0 are left")},
      {start + "04000000 0805 1002 00000000",
       DataLossError("byte 24: the data needs 8 bytes, 4 are left")},
      {start + "04000000 0800 1003 000102",
       InvalidArgumentError("byte 26: a BOOL is 2, neither 0 nor 1")},
  };
  for (const BadStream& c : cases) {
    EXPECT_EQ(ReadTensor(HexBytes(c.hex)).status(), c.status) << c.hex;
  }
}

TEST(SelectedRowsStream, SaysWhatIsWrong) {
  using absl::DataLossError;
  using absl::InvalidArgumentError;
  const BadStream cases[] = {
      {"00000000 ffffffffffffffff",
       InvalidArgumentError("byte 12: the list of row ids has 18446744073709551615 numbers")},
      {"00000000 0200000000000000 0000000000000000",
       DataLossError("byte 12: the list of row ids needs 16 bytes, 8 are left")},
      {"00000000 0000000000000000 ffffffffffffffff",
       InvalidArgumentError("byte 12: the height -1 is negative")},
      {"00000000 0200000000000000 0000000000000000 0500000000000000 0500000000000000",
       InvalidArgumentError("byte 20: the row id 5 is not one of 5 rows")},
      {"00000000 0100000000000000 ffffffffffffffff 0500000000000000",
       InvalidArgumentError("byte 12: the row id -1 is not one of 5 rows")},
      {"00000000 0100000000000000 0000000000000000 0500000000000000 00000000 04000000 0815 1002",
       InvalidArgumentError("byte 28: the dims of the rows are [2]; there are 1 row ids")},
      {"00000000 0100000000000000 0000000000000000 0500000000000000 00000000 02000000 0815",
       InvalidArgumentError("byte 28: the dims of the rows are []; there are 1 row ids")},
  };
  for (const BadStream& c : cases) {
    EXPECT_EQ(ReadSelectedRows(HexBytes(c.hex)).status(), c.status) << c.hex;
  }
}

}  // namespace
}  // namespace fixpoint
