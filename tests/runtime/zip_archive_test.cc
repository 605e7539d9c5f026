// Archives, byte for byte, and errors for those that are damaged or of another kind.

#include "runtime/zip_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/hex_bytes.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Members = std::vector<std::pair<std::string, std::string>>;

std::string Archive(const Members& members) {
  std::string archive;
  ZipWriter writer([&](absl::string_view bytes) {
    archive.append(bytes.data(), bytes.size());
    return absl::OkStatus();
  });
  for (const auto& [name, contents] : members) {
    EXPECT_EQ(writer.Add(name, {contents}), absl::OkStatus());
  }
  EXPECT_EQ(writer.Finish(), absl::OkStatus());
  return archive;
}

// Members "a" of the bytes "hi" and "bc" of none, as the specification lays them out; the checksum
// of "hi" is 0xd8932aac.
const char kLocalA[] =
    "504b0304 1400 0000 0000 0000 2100 ac2a93d8 02000000 02000000 0100 0000 61 6869";
const char kLocalBc[] =
    "504b0304 1400 0000 0000 0000 2100 00000000 00000000 00000000 0200 0000 6263";
const char kCentralA[] =
    "504b0102 1400 1400 0000 0000 0000 2100 ac2a93d8 02000000 02000000 0100 0000 0000 0000 0000"
    "00000000 00000000 61";
const char kCentralBc[] =
    "504b0102 1400 1400 0000 0000 0000 2100 00000000 00000000 00000000 0200 0000 0000 0000 0000"
    "00000000 21000000 6263";
const char kEnd[] = "504b0506 0000 0000 0200 0200 5f000000 41000000 0000";

constexpr size_t kSecondLocal = 33;
constexpr size_t kDirectory = 65;
constexpr size_t kSecondCentral = kDirectory + 47;
constexpr size_t kEndRecord = kDirectory + 95;

std::string TwoMembers() {
  return HexBytes(absl::StrCat(kLocalA, kLocalBc, kCentralA, kCentralBc, kEnd));
}

TEST(ZipArchive, IsWrittenToTheByte) {
  EXPECT_EQ(Archive({{"a", "hi"}, {"bc", ""}}), TwoMembers());
  EXPECT_EQ(Archive({}), HexBytes("504b0506 0000 0000 0000 0000 00000000 00000000 0000"));
  // A name beyond ASCII is marked as UTF-8.
  EXPECT_EQ(Archive({{"\xc3\xa4", ""}}).substr(4, 4), HexBytes("1400 0008"));
}

TEST(ZipArchive, ItsMembersAreRead) {
  const std::string archive = TwoMembers();
  const absl::StatusOr<std::vector<ZipMember>> members = ListZipMembers(archive);
  ASSERT_TRUE(members.ok()) << members.status();
  ASSERT_EQ(members->size(), 2u);
  std::string expanded;
  EXPECT_EQ((*members)[0].name, "a");
  EXPECT_EQ(*ZipContents((*members)[0], &expanded), "hi");
  EXPECT_EQ((*members)[1].name, "bc");
  EXPECT_EQ(*ZipContents((*members)[1], &expanded), "");
  EXPECT_THAT(*ListZipMembers(Archive({})), IsEmpty());
}

TEST(ZipArchive, ACommentMayFollow) {
  std::string archive = TwoMembers() + "PK\5\6 is no end";
  archive[kEndRecord + 20] = 14;
  EXPECT_EQ(ListZipMembers(archive)->size(), 2u);
}

TEST(ZipArchive, EveryPrefixIsCut) {
  const std::string archive = TwoMembers();
  for (size_t size = 0; size < archive.size(); ++size) {
    EXPECT_EQ(
        ListZipMembers(archive.substr(0, size)).status(),
        absl::DataLossError(
            "there is no end of a zip archive; the file was cut, or is no zip archive (.npz)"))
        << size;
  }
}

struct BadArchive {
  size_t offset;
  const char* hex;  // What stands there instead.
  absl::Status status;
};

TEST(ZipArchive, SaysWhatIsWrong) {
  using absl::InvalidArgumentError;
  using absl::UnimplementedError;
  const size_t archive_bytes = TwoMembers().size();
  const absl::Status zip64 = UnimplementedError(
      "this is a zip64 archive, as of 4 GiB and more; save the arrays as .npy files");
  const BadArchive cases[] = {
      // The end.
      {kEndRecord + 8, "ffff ffff", zip64},
      {kEndRecord + 12, "ffffffff", zip64},
      {kEndRecord + 16, "ffffffff", zip64},
      {kEndRecord + 4, "0100", UnimplementedError("byte 160: the archive is a part of several")},
      {kEndRecord + 8, "0100", UnimplementedError("byte 160: the archive is a part of several")},
      {kEndRecord + 12, "60000000",
       InvalidArgumentError("byte 160: the directory of the archive is said to be bytes 65 to 161; "
                            "expected it to end here")},
      {kEndRecord + 8, "0300 0300",
       InvalidArgumentError("byte 65: the directory has 2 members; the end of the archive says 3")},
      // The directory.
      {kDirectory, "504b0103",
       InvalidArgumentError("byte 65: expected a member of the directory here")},
      {kSecondCentral + 28, "0300",
       InvalidArgumentError("byte 112: the directory of the archive ends within a member")},
      {kSecondCentral + 32, "0100",
       InvalidArgumentError("byte 112: the directory of the archive ends within a member")},
      {kDirectory + 24, "ffffffff",
       UnimplementedError(absl::StrCat("member \"a\": ", zip64.message()))},
      {kDirectory + 8, "0100", UnimplementedError("member \"a\": it is encrypted")},
      {kDirectory + 10, "0c00",
       UnimplementedError("member \"a\": it is compressed by method 12; expected stored or "
                          "deflated (numpy.savez, numpy.savez_compressed)")},
      {kDirectory + 24, "03000000",
       InvalidArgumentError("byte 65: member \"a\": it is stored as 2 bytes and said to have 3")},
      // What the members expand to is in proportion to the archive.
      {kDirectory + 10, "0800 0000 2100 ac2a93d8 02000000 00000001", absl::OkStatus()},
      {kDirectory + 10, "0800 0000 2100 ac2a93d8 02000000 01000001",
       InvalidArgumentError(absl::StrCat("the members of this archive of ", archive_bytes,
                                         " bytes expand to 16777217; at most 16777216 are read"))},
      {kSecondCentral + 10, "0800 0000 2100 00000000 00000000 feffffff",
       InvalidArgumentError(absl::StrCat("the members of this archive of ", archive_bytes,
                                         " bytes expand to 4294967296; at most 16777216 are "
                                         "read"))},
      // The members.
      {kDirectory + 42, "24000000",
       InvalidArgumentError(
           "byte 36: expected member \"a\" here; the directory starts at byte 65")},
      {kDirectory + 42, "fffffffe",
       InvalidArgumentError("byte 4278190079: expected member \"a\" here; the directory starts at "
                            "byte 65")},
      {kDirectory + 42, "01000000", InvalidArgumentError("byte 1: expected member \"a\" here")},
      {kDirectory + 46, "62", InvalidArgumentError("byte 0: expected member \"b\" here")},
      {kSecondLocal, "00", InvalidArgumentError("byte 33: expected member \"bc\" here")},
      {28, "ffff",
       InvalidArgumentError(
           "byte 0: member \"a\" ends at byte 65568; the directory starts at byte 65")},
      {28, "0100", InvalidArgumentError("byte 33: members \"a\" and \"bc\" overlap")},
  };
  for (const BadArchive& c : cases) {
    std::string archive = TwoMembers();
    const std::string bytes = HexBytes(c.hex);
    archive.replace(c.offset, bytes.size(), bytes);
    EXPECT_EQ(ListZipMembers(archive).status(), c.status) << c.offset << " " << c.hex;
  }
}

TEST(ZipArchive, ANameIsGivenOnce) {
  EXPECT_EQ(ListZipMembers(Archive({{"a", "x"}, {"a", "y"}})).status(),
            absl::InvalidArgumentError("byte 111: there are two members \"a\""));
}

TEST(ZipArchive, ContentsAreCompared) {
  const std::string archive = TwoMembers();
  std::string expanded;
  ZipMember member = ListZipMembers(archive)->front();
  member.crc32 ^= 1;
  EXPECT_EQ(ZipContents(member, &expanded).status(),
            absl::DataLossError("member \"a\": the contents are damaged: their checksum is not "
                                "that of the archive"));
}

// "aaaa" deflated, with the checksum of "aaaa".
ZipMember Deflated(absl::string_view bytes) {
  return {"a", /*deflated=*/true, bytes, 0xad98e545, 4};
}

TEST(ZipArchive, DeflatedContentsAreExpanded) {
  const std::string bytes = HexBytes("4b4c4c4c0400");
  std::string expanded;
  EXPECT_EQ(*ZipContents(Deflated(bytes), &expanded), "aaaa");
}

TEST(ZipArchive, DeflatedContentsHaveTheSizeThatIsSaid) {
  const std::string bytes = HexBytes("4b4c4c4c0400");
  std::string expanded;
  ZipMember member = Deflated(bytes);
  member.size = 3;
  EXPECT_EQ(
      ZipContents(member, &expanded).status(),
      absl::InvalidArgumentError("member \"a\": expands to too much; expected at most 3 bytes"));
  const absl::Status damaged = absl::DataLossError(
      "member \"a\": the contents are damaged: they do not expand to what the archive says");
  for (const uint32_t size : {5u, 0xfffffffeu}) {
    member.size = size;
    EXPECT_EQ(ZipContents(member, &expanded).status(), damaged) << size;
  }
  member = Deflated(absl::string_view(bytes).substr(0, 5));
  EXPECT_EQ(ZipContents(member, &expanded).status(), damaged);
  const std::string longer = bytes + bytes;
  EXPECT_EQ(ZipContents(Deflated(longer), &expanded).status(), damaged);
}

TEST(ZipArchive, WhatCannotBeAMemberIsNotWritten) {
  ZipWriter writer([](absl::string_view) { return absl::UnavailableError("the disk is full"); });
  for (const std::string& name : {std::string(), std::string("a\0b", 3), std::string(65536, 'a')}) {
    EXPECT_EQ(writer.Add(name, {}).code(), absl::StatusCode::kInvalidArgument) << name.size();
  }
  // 4 GiB in pieces that are the same memory.
  const std::string piece(size_t{1} << 26, '\0');
  const std::vector<absl::string_view> pieces(64, piece);
  EXPECT_EQ(writer.Add("a", pieces),
            absl::UnimplementedError(
                "the archive would have more than 4294967295 bytes or 65534 members, for which "
                "zip64 would be needed; save the arrays as .npy files"));
  EXPECT_EQ(writer.Add("a", {}), absl::UnavailableError("the disk is full"));
}

}  // namespace
}  // namespace fixpoint
