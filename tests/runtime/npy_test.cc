// Arrays, byte for byte as NumPy stores them, and errors for other files.

#include "runtime/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/byte_reader.h"
#include "tests/testing/hex_bytes.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

std::string Bytes(const Tensor& tensor) {
  const absl::Span<const uint8_t> bytes = tensor.bytes();
  return {bytes.begin(), bytes.end()};
}

// A file of version 1.0 whose header is not padded, which its length allows.
std::string Npy(absl::string_view header, absl::string_view data_hex = "") {
  return absl::StrCat("\x93NUMPY", absl::string_view("\x01\x00", 2),
                      std::string(1, static_cast<char>(header.size())),
                      std::string(1, static_cast<char>(header.size() >> 8)), header,
                      HexBytes(data_hex));
}

absl::StatusOr<Tensor> Read(absl::string_view bytes) {
  ByteReader reader = ByteReader::Over(bytes);
  return ReadNpy(reader);
}

// numpy.save(path, numpy.array([[1, -2, 3], [4, 5, -6]], "<f4")): magic string, version 1.0, the
// length 118, the dictionary in 118 bytes, the elements from byte 128 on.
const char kMatrix[] =
    "934e554d5059 0100 7600"
    "7b276465736372273a20273c6634272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065"
    "27"
    "3a2028322c2033292c207d"
    "2020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020"
    "2020202020202020202020 0a"
    "0000803f 000000c0 00004040 00008040 0000a040 0000c0c0";

TEST(Npy, ANumPyFileIsReadAndWrittenToTheByte) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("matrix.npy", HexBytes(kMatrix));
  const absl::StatusOr<Tensor> matrix = LoadNpy(path);
  ASSERT_TRUE(matrix.ok()) << matrix.status();
  EXPECT_THAT(matrix->dims(), ElementsAre(2, 3));
  EXPECT_THAT(matrix->data<float>(), ElementsAre(1, -2, 3, 4, 5, -6));

  const absl::StatusOr<std::string> written = NpyBytes(*matrix);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(*written, HexBytes(kMatrix));
}

struct TypeCase {
  const char* descr;
  const char* hex;
  Tensor tensor;
};

std::vector<TypeCase> TypeCases() {
  std::vector<TypeCase> cases;
  cases.push_back({"|b1", "0100", Tensor::FromValues<bool>({2}, {true, false})});
  cases.push_back({"|i1", "01ff", Tensor::FromValues<int8_t>({2}, {1, -1})});
  cases.push_back({"|u1", "01ff", Tensor::FromValues<uint8_t>({2}, {1, 255})});
  cases.push_back({"<i2", "0100 feff", Tensor::FromValues<int16_t>({2}, {1, -2})});
  cases.push_back({"<i4", "01000000 feffffff", Tensor::FromValues<int32_t>({2}, {1, -2})});
  cases.push_back(
      {"<i8", "0100000000000000 feffffffffffffff", Tensor::FromValues<int64_t>({2}, {1, -2})});
  cases.push_back({"<u8", "0100000000000000 feffffffffffffff",
                   Tensor::FromValues<uint64_t>({2}, {1, 0xfffffffffffffffe})});
  cases.push_back({"<f4", "0000803f 000000c0", Tensor::FromValues<float>({2}, {1, -2})});
  cases.push_back(
      {"<f8", "000000000000f03f 00000000000000c0", Tensor::FromValues<double>({2}, {1, -2})});
  cases.push_back({"<c8", "0000803f 000000c0 00000000 0000803f",
                   Tensor::FromValues<std::complex<float>>({2}, {{1, -2}, {0, 1}})});
  cases.push_back({"<c16", "000000000000f03f 00000000000000c0 0000000000000000 000000000000f03f",
                   Tensor::FromValues<std::complex<double>>({2}, {{1, -2}, {0, 1}})});
  absl::StatusOr<Tensor> half = Tensor::Allocate(VarType::FP16, {2});
  const std::string half_bytes = HexBytes("003c 00c0");
  std::copy(half_bytes.begin(), half_bytes.end(), half->mutable_bytes().begin());
  cases.push_back({"<f2", "003c 00c0", *std::move(half)});
  return cases;
}

TEST(Npy, EveryElementTypeIsReadAndWritten) {
  for (const TypeCase& c : TypeCases()) {
    SCOPED_TRACE(c.descr);
    const std::string header =
        absl::StrCat("{'descr': '", c.descr, "', 'fortran_order': False, 'shape': (2,), }");
    const absl::StatusOr<Tensor> read = Read(Npy(header, c.hex));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->dtype(), c.tensor.dtype());
    EXPECT_EQ(Bytes(*read), Bytes(c.tensor));
    const absl::StatusOr<std::string> preamble = NpyPreamble(c.tensor);
    ASSERT_TRUE(preamble.ok()) << preamble.status();
    EXPECT_EQ(preamble->size(), 128u);
    EXPECT_TRUE(absl::StartsWith(preamble->substr(10), header)) << *preamble;
  }
}

TEST(Npy, ScalarsAndEmptyArraysAreReadAndWritten) {
  const std::string start = "{'descr': '|i1', 'fortran_order': False, 'shape': ";
  const absl::StatusOr<Tensor> scalar = Read(Npy(start + "(), }", "07"));
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_THAT(scalar->dims(), IsEmpty());
  EXPECT_THAT(scalar->data<int8_t>(), ElementsAre(7));
  EXPECT_TRUE(absl::StrContains(*NpyPreamble(*scalar), "'shape': (), }"));

  const absl::StatusOr<Tensor> empty = Read(Npy(start + "(0, 3), }"));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_THAT(empty->dims(), ElementsAre(0, 3));
  EXPECT_TRUE(absl::StrContains(*NpyPreamble(*empty), "'shape': (0, 3), }"));
}

TEST(Npy, FortranOrderIsPutIntoCOrder) {
  // [[[0, 1], [2, 3], [4, 5]]] and its like: the first index runs fastest in the file.
  const absl::StatusOr<Tensor> tensor =
      Read(Npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3, 2), }",
               "0000 0600 0200 0800 0400 0a00 0100 0700 0300 0900 0500 0b00"));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->dims(), ElementsAre(2, 3, 2));
  EXPECT_THAT(tensor->data<int16_t>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));

  const absl::StatusOr<Tensor> empty =
      Read(Npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 0, 2), }"));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(empty->size(), 0);
}

TEST(Npy, TheHeaderMayBeWrittenAsOtherPythonsDo) {
  for (const char* header : {
           "{\"shape\":(2L,),\"descr\":\"<i2\",\"fortran_order\":False}\n",
           " { 'fortran_order' : True , 'shape' : ( 2 , ) , 'descr' : '<i2' , } \n",
           "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 2)}",
           "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 2,)}",
       }) {
    const absl::StatusOr<Tensor> tensor = Read(Npy(header, "0500 0600"));
    ASSERT_TRUE(tensor.ok()) << header << tensor.status();
    EXPECT_THAT(tensor->data<int16_t>(), ElementsAre(5, 6));
  }
}

TEST(Npy, LaterVersionsHaveALongerLength) {
  const std::string header = "{'descr': '|i1', 'fortran_order': False, 'shape': (1,), }\n";
  for (const char* version : {"0200", "0300"}) {
    const absl::StatusOr<Tensor> tensor = Read(absl::StrCat(
        "\x93NUMPY", HexBytes(version), std::string(1, static_cast<char>(header.size())),
        std::string(3, '\0'), header, "\x07"));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_THAT(tensor->data<int8_t>(), ElementsAre(7));
  }
}

TEST(Npy, EveryPrefixIsTruncated) {
  const std::string file = HexBytes(kMatrix);
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_EQ(Read(file.substr(0, size)).status().code(), absl::StatusCode::kDataLoss) << size;
  }
}

struct BadFile {
  std::string bytes;
  absl::Status status;
};

TEST(Npy, SaysWhatIsWrong) {
  using absl::DataLossError;
  using absl::InvalidArgumentError;
  using absl::UnimplementedError;
  const std::string start = "{'descr': '<i2', 'fortran_order': False, ";
  const BadFile cases[] = {
      // The beginning.
      {"\x93NUM", DataLossError("byte 0: the magic string needs 6 bytes, 4 are left")},
      {"P6 28 28", InvalidArgumentError("byte 0: this is not a NumPy array (.npy)")},
      {HexBytes("800495 000000"),
       InvalidArgumentError("byte 0: this is not a NumPy array (.npy) but a Python pickle; save "
                            "the array with numpy.save")},
      {HexBytes("504b0304 0000"),
       InvalidArgumentError(
           "byte 0: this is not a NumPy array (.npy) but a zip archive, as a .npz file is")},
      {HexBytes("1f8b0800 0000"),
       InvalidArgumentError(
           "byte 0: this is not a NumPy array (.npy) but gzipped; unpack it first")},
      {HexBytes("934e554d5059 0400"),
       UnimplementedError("byte 6: the version is 4.0; expected 1.0, 2.0 or 3.0")},
      {HexBytes("934e554d5059 0101"),
       UnimplementedError("byte 6: the version is 1.1; expected 1.0, 2.0 or 3.0")},
      {HexBytes("934e554d5059 0200 ffffffff"),
       InvalidArgumentError("byte 8: the header has 4294967295 bytes; at most 10000 are read")},
      {HexBytes("934e554d5059 0100 7600 7b27"),
       DataLossError("byte 10: the header needs 118 bytes, 2 are left")},
      // The dictionary.
      {Npy(""), InvalidArgumentError("byte 10: the header is not as NumPy writes it: expected "
                                     "\"{\", got it ends")},
      {Npy("{'descr': '<i2"),
       InvalidArgumentError("byte 20: the header is not as NumPy writes it: expected a string, got "
                            "\"\\'<i2\"")},
      {Npy("{'descr' '<i2'}"),
       InvalidArgumentError("byte 19: the header is not as NumPy writes it: expected \":\", got "
                            "\"\\'<i2\\'}\"")},
      {Npy("{'fortran_order': 0}"),
       InvalidArgumentError("byte 28: the header is not as NumPy writes it: expected True or "
                            "False, got \"0}\"")},
      {Npy("{'fortran_order': False 'shape': ()}"),
       InvalidArgumentError("byte 34: the header is not as NumPy writes it: expected \",\" or "
                            "\"}\", got \"\\'shape\\': ()}\"")},
      {Npy("{} and more"),
       InvalidArgumentError("byte 13: the header is not as NumPy writes it: expected its end, got "
                            "\"and more\"")},
      {Npy("{'shape': (1,), 'shape': (1,)}"),
       InvalidArgumentError("byte 26: the header has the key 'shape'; expected 'descr', "
                            "'fortran_order' and 'shape', each once")},
      {Npy("{'title': 1}"),
       InvalidArgumentError("byte 11: the header has the key 'title'; expected 'descr', "
                            "'fortran_order' and 'shape', each once")},
      {Npy("{}"), InvalidArgumentError("byte 10: the header has no key 'descr'")},
      {Npy("{'descr': '<i2'}"),
       InvalidArgumentError("byte 10: the header has no key 'fortran_order'")},
      {Npy(start + "}"), InvalidArgumentError("byte 10: the header has no key 'shape'")},
      // The shape.
      {Npy(start + "'shape': 2}"),
       InvalidArgumentError(
           "byte 60: the header is not as NumPy writes it: expected \"(\", got \"2}\"")},
      {Npy(start + "'shape': (2)}"),
       InvalidArgumentError(
           "byte 62: the header is not as NumPy writes it: expected \",\", got \")}\"")},
      {Npy(start + "'shape': (2 3)}"),
       InvalidArgumentError(
           "byte 63: the header is not as NumPy writes it: expected \",\", got \"3)}\"")},
      {Npy(start + "'shape': (-1,)}"),
       InvalidArgumentError("byte 61: the header is not as NumPy writes it: expected an extent of "
                            "0 to 2^63 - 1, got \"-1,)}\"")},
      {Npy(start + "'shape': (9223372036854775808,)}"),
       InvalidArgumentError("byte 61: the header is not as NumPy writes it: expected an extent of "
                            "0 to 2^63 - 1, got \"9223372036854775808,\"")},
      {Npy(start + "'shape': (4294967296, 4294967296)}"),
       InvalidArgumentError("byte 60: dims [4294967296, 4294967296]: the number of elements "
                            "exceeds 2^63 - 1")},
      {Npy(start + "'shape': (9223372036854775807,)}"),
       InvalidArgumentError(
           "byte 10: dims [9223372036854775807]: the number of bytes exceeds 2^63 - 1")},
      // The elements.
      {Npy(start + "'shape': (4611686018427387903,)}", "0000"),
       DataLossError("byte 83: the data needs 9223372036854775806 bytes, 2 are left")},
      {Npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "0102"),
       InvalidArgumentError("byte 68: a BOOL is 2, neither 0 nor 1")},
  };
  for (const BadFile& c : cases) EXPECT_EQ(Read(c.bytes).status(), c.status) << c.bytes;
}

TEST(Npy, RefusesElementsThatNoTensorHas) {
  const std::string known =
      ", which no tensor has; expected one of b1, i1, i2, i4, i8, u1, u8, f2, f4, f8, c8, c16 in "
      "little endian order, as in '<f4'";
  const std::pair<const char*, std::string> cases[] = {
      {"'>f4'", "the elements are '>f4', big endian; save array.astype('<f4')"},
      {"'|O'",
       "the elements are '|O', Python objects, which are a pickle, that is code, and are not read"},
      {"'<U5'", "the elements are '<U5'" + known},
      {"'<u2'", "the elements are '<u2'" + known},
      {"'=f4'", "the elements are '=f4'" + known},
      {"''", "the elements are ''" + known},
      {"[('x', '<f4')]",
       "the elements are records of several fields; save each field as an array of its own"},
  };
  for (const auto& [descr, message] : cases) {
    EXPECT_EQ(Read(Npy(absl::StrCat("{'descr': ", descr, ", 'shape': (), }"))).status(),
              absl::UnimplementedError(absl::StrCat("byte 20: ", message)))
        << descr;
  }
}

TEST(Npy, RefusesMoreDimensionsThanATensorHas) {
  std::string shape;
  for (int axis = 0; axis < 65; ++axis) shape += "1, ";
  EXPECT_EQ(Read(Npy(absl::StrCat("{'shape': (", shape, ")}"))).status(),
            absl::UnimplementedError("byte 20: the array has 65 dimensions; at most 64 are read"));
}

TEST(Npy, AFileEndsWithItsArray) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("two.npy", HexBytes(kMatrix) + HexBytes(kMatrix));
  EXPECT_EQ(LoadNpy(path).status(),
            absl::InvalidArgumentError(
                absl::StrCat(path, ": byte 152: bytes follow the array; expected the end")));
  EXPECT_EQ(LoadNpy(folder.Path("none.npy")).status().code(), absl::StatusCode::kNotFound);
}

TEST(Npy, WhatAnArrayCannotHoldIsNotWritten) {
  const absl::StatusOr<Tensor> bf16 = Tensor::Allocate(VarType::BF16, {0});
  EXPECT_EQ(NpyBytes(*bf16).status(),
            absl::UnimplementedError("NumPy has no BF16; save it as FP32"));
  Tensor rows = Tensor::FromValues<uint8_t>({2}, {7, 8});
  rows.set_lod({{0, 2}});
  EXPECT_EQ(NpyBytes(rows).status(),
            absl::UnimplementedError(
                "the tensor has offsets of sequences, which a NumPy array cannot hold"));
  const absl::StatusOr<Tensor> deep = Tensor::Allocate(VarType::INT8, std::vector<int64_t>(65, 1));
  EXPECT_EQ(NpyBytes(*deep).status(),
            absl::UnimplementedError("the tensor has 65 dimensions; NumPy has at most 64"));
}

}  // namespace
}  // namespace fixpoint
