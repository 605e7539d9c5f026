#include "proto/file/gzip.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/testing/gzip_bytes.h"

namespace fixpoint {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

std::string ErrorOf(absl::string_view gzipped) {
  const absl::StatusOr<std::string> bytes = Gunzip(gzipped, kMaxBytes, "f.gz");
  return bytes.ok() ? "no error" : bytes.status().ToString();
}

TEST(Gunzip, GivesBackWhatWasGzipped) {
  for (const size_t size : {size_t{0}, size_t{1}, kMaxBytes}) {
    const std::string bytes(size, 'x');
    const absl::StatusOr<std::string> expanded = Gunzip(GzipBytes(bytes), kMaxBytes, "f.gz");
    ASSERT_TRUE(expanded.ok()) << expanded.status();
    EXPECT_TRUE(*expanded == bytes);
  }
}

TEST(Gunzip, JoinsSeveralMembers) {
  const absl::StatusOr<std::string> expanded =
      Gunzip(GzipBytes("one ") + GzipBytes("") + GzipBytes("two"), kMaxBytes, "f.gz");
  ASSERT_TRUE(expanded.ok()) << expanded.status();
  EXPECT_EQ(*expanded, "one two");
}

TEST(Gunzip, RefusesToExpandToMoreThanAllowed) {
  const std::string member = GzipBytes(std::string(kMaxBytes, 'x'));
  const char* const too_much =
      "INVALID_ARGUMENT: f.gz: expands to too much; expected at most 1048576 bytes";
  EXPECT_EQ(ErrorOf(GzipBytes(std::string(kMaxBytes + 1, 'x'))), too_much);
  EXPECT_EQ(ErrorOf(member + GzipBytes("x")), too_much);
}

TEST(Gzip, IsExpandedToTheSameBytes) {
  const std::string bytes(3000, 'x');
  const absl::StatusOr<std::string> gzipped = Gzip(bytes);
  ASSERT_TRUE(gzipped.ok()) << gzipped.status();
  EXPECT_TRUE(IsGzip(*gzipped));
  EXPECT_LT(gzipped->size(), 100u);
  EXPECT_EQ(*Gunzip(*gzipped, kMaxBytes, "f.gz"), bytes);
  EXPECT_EQ(*Gzip(bytes), *gzipped);
}

TEST(MostExpandedBytes, AreInProportionToTheFile) {
  EXPECT_EQ(MostExpandedBytes(1), size_t{16} << 20);
  EXPECT_EQ(MostExpandedBytes(size_t{1} << 20), size_t{100} << 20);
}

TEST(Gunzip, RefusesEveryTruncatedStream) {
  const std::string gzipped = GzipBytes("some bytes that are longer than nothing");
  for (size_t size = 0; size < gzipped.size(); ++size) {
    EXPECT_EQ(ErrorOf(absl::string_view(gzipped).substr(0, size)),
              "DATA_LOSS: f.gz: the gzip stream ends early; the file is truncated")
        << size;
  }
}

TEST(Gunzip, RefusesDamage) {
  std::string wrong_sum = GzipBytes("bytes");
  wrong_sum[wrong_sum.size() - 8] ^= 1;
  EXPECT_EQ(ErrorOf(wrong_sum),
            "DATA_LOSS: f.gz: the gzip stream is damaged: incorrect data check");
  std::string wrong_method = GzipBytes("bytes");
  wrong_method[2] = 7;
  EXPECT_EQ(ErrorOf(wrong_method),
            "DATA_LOSS: f.gz: the gzip stream is damaged: unknown compression method");
  EXPECT_EQ(ErrorOf(GzipBytes("bytes") + "more"),
            "DATA_LOSS: f.gz: 4 bytes follow the gzip stream; expected its end");
}

}  // namespace
}  // namespace fixpoint
