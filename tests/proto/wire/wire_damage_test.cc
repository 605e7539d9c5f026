#include "proto/wire/wire_damage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/text/program_text.h"
#include "proto/wire/program.pb.h"
#include "tests/testing/hex_bytes.h"

namespace fixpoint {
namespace {

using ::testing::EndsWith;

std::string ErrorOf(absl::string_view bytes) { return DescribeWireDamage(bytes, "p").ToString(); }

std::string SmallProgram() {
  const absl::StatusOr<ProgramDesc> program = ParseProgramText(R"(
program version=1
block 0 {
  var x f32[1]
  relu(X=x) -> (Out=y) {axis=1}
  relu(X=y) -> (Out=z) {shape=[1, 2]}
}
)",
                                                               "small");
  EXPECT_TRUE(program.ok()) << program.status();
  return program->SerializeAsString();
}

TEST(WireDamage, ATruncatedFileIsNamedWithThePlaceWhereItEnds) {
  const std::string bytes = SmallProgram();
  const std::pair<size_t, const char*> kCases[] = {
      {1, "DATA_LOSS: p: the file ends here, inside a number; it is truncated"},
      {2, "DATA_LOSS: p: block 0: the file ends here, 109 bytes early; it is truncated"},
      {20,
       "DATA_LOSS: p: block 0, variable 0: the file ends here, 91 bytes early; it is truncated"},
      {50,
       "DATA_LOSS: p: block 0, op 0, output 0: the file ends here, 61 bytes early; it is "
       "truncated"},
      {70, "DATA_LOSS: p: block 0: the file ends here, 41 bytes early; it is truncated"},
      {bytes.size() - 1,
       "DATA_LOSS: p: version: the file ends here, 1 bytes early; it is truncated"},
  };
  for (const auto& [size, message] : kCases) {
    EXPECT_EQ(ErrorOf(absl::string_view(bytes).substr(0, size)), message) << size;
  }
}

TEST(WireDamage, EveryTruncationThatCannotBeParsedIsCalledSo) {
  const std::string bytes = SmallProgram();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    ProgramDesc program;
    if (program.ParsePartialFromString(cut)) continue;
    EXPECT_THAT(ErrorOf(cut), EndsWith("; it is truncated")) << size;
  }
}

TEST(WireDamage, DamageInsideIsNamedWithItsByte) {
  const std::pair<const char*, const char*> kCases[] = {
      {"00", "byte 0: no field begins here; expected one or the end"},
      {"0c", "byte 0: no field begins here; expected one or the end"},
      {"0f", "byte 0: no field begins here; expected one or the end"},
      {"ffffffffffffffffffff01", "byte 0: a number has no end; expected at most 10 bytes"},
      {"0a02 0800 0c", "byte 4: 1 bytes follow the program; expected its end"},
      {"0a02 0800 00 00", "byte 4: 2 bytes follow the program; expected its end"},
      {"0a02 0800 7f", "byte 4: 1 bytes follow the program; expected its end"},
      {"0a04 2203 0a01",
       "block 0: byte 3: a length of 3 bytes runs past the end of its message; expected at most 2"},
      {"0a04 2202 0a05 1001",
       "block 0, op 0: byte 5: a length of 5 bytes runs past the end of its message; expected at "
       "most 0"},
      {"0a03 0dffff 1001",
       "block 0: byte 3: a number runs past the end of its message; expected one that ends in it"},
      {"0a03 09ffff",
       "block 0: byte 3: a number runs past the end of its message; expected one that ends in it"},
      {"0a02 08ff 1001", "block 0: byte 2: a number has no end; expected at most 10 bytes"},
      {"0a02 08ff", "block 0: byte 2: a number has no end; expected at most 10 bytes"},
      {"0a04 2202 0000", "block 0, op 0: byte 4: no field begins here; expected one or the end"},
  };
  for (const auto& [hex, message] : kCases) {
    EXPECT_EQ(ErrorOf(HexBytes(hex)), absl::StrCat("INVALID_ARGUMENT: p: ", message)) << hex;
  }
}

TEST(WireDamage, GroupsAreFollowedOnlySoDeep) {
  EXPECT_EQ(ErrorOf(std::string(1000000, '\x0b')),
            "INVALID_ARGUMENT: p: byte 100: groups are nested too deep; expected 100 at most");
}

TEST(WireDamage, WhatIsNotSeenIsStillRefused) {
  EXPECT_EQ(ErrorOf(""),
            "INVALID_ARGUMENT: p: is not a serialized program; expected protobuf's wire format");
}

}  // namespace
}  // namespace fixpoint
