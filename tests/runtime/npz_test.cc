// Archives of arrays: those of NumPy are read, ours are written and read again. NumPy 2.4.6 wrote
//
//   numpy.savez("stored.npz", **{"x": numpy.array([[1.5, -2], [3, 4]], "<f4"),
//                                "block/n": numpy.arange(3, dtype="<i8")})
//
// and with numpy.savez_compressed "deflated.npz".

#include "runtime/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/tensor.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Status Save(const Scope& scope, const std::string& path) {
  ASSIGN_OR_RETURN(AtomicFile file, StageNpz(scope, path));
  return file.Commit();
}

std::vector<std::string> Names(const Scope& scope) {
  std::vector<std::string> names;
  for (const auto& [name, value] : scope) names.push_back(name);
  return names;
}

TEST(Npz, ArchivesOfNumPyAreRead) {
  for (const char* file : {"stored.npz", "deflated.npz"}) {
    const absl::StatusOr<Scope> scope = LoadNpz(absl::StrCat("tests/runtime/numpy/", file));
    ASSERT_TRUE(scope.ok()) << scope.status();
    EXPECT_THAT(Names(*scope), ElementsAre("block/n", "x"));
    const Tensor* x = *scope->Find("x");
    EXPECT_THAT(x->dims(), ElementsAre(2, 2));
    EXPECT_THAT(x->data<float>(), ElementsAre(1.5, -2, 3, 4));
    EXPECT_THAT((*scope->Find("block/n"))->data<int64_t>(), ElementsAre(0, 1, 2));
  }
}

TEST(Npz, WhatIsWrittenIsReadAgain) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("x.npz");
  Scope scope;
  scope.Set("scalar", Tensor::FromValues<double>({}, {2.5}));
  scope.Set("a.npy", Tensor::FromValues<uint8_t>({1, 2}, {7, 8}));
  scope.Set("empty", Tensor::FromValues<int8_t>({0}, {}));
  ASSERT_EQ(Save(scope, path), absl::OkStatus());
  const absl::StatusOr<Scope> read = LoadNpz(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(Names(*read), ElementsAre("a.npy", "empty", "scalar"));
  EXPECT_THAT((*read->Find("a.npy"))->data<uint8_t>(), ElementsAre(7, 8));
  EXPECT_THAT((*read->Find("a.npy"))->dims(), ElementsAre(1, 2));
  EXPECT_THAT((*read->Find("empty"))->data<int8_t>(), IsEmpty());
  EXPECT_THAT((*read->Find("scalar"))->data<double>(), ElementsAre(2.5));

  ASSERT_EQ(Save(Scope(), path), absl::OkStatus());
  EXPECT_EQ(LoadNpz(path)->size(), 0u);
}

TEST(Npz, SaysWhichMemberIsWrong) {
  const TemporaryFolder folder;
  Scope scope;
  scope.Set("x", Tensor::FromValues<int8_t>({1}, {7}));
  ASSERT_EQ(Save(scope, folder.Path("x.npz")), absl::OkStatus());
  const std::string archive = folder.Read("x.npz");

  // The name stands before the contents and in the directory.
  std::string other_name = archive;
  for (size_t at; (at = other_name.find("x.npy")) != std::string::npos;) {
    other_name.replace(at, 5, "x.txt");
  }
  EXPECT_EQ(ParseNpz(other_name, "x.npz").status(),
            absl::InvalidArgumentError("x.npz: member \"x.txt\": it is no array (.npy)"));

  std::string damaged = archive;
  damaged.replace(archive.find("|i1"), 3, "|i9");
  EXPECT_EQ(ParseNpz(damaged, "x.npz").status(),
            absl::DataLossError("x.npz: member \"x.npy\": the contents are damaged: their checksum "
                                "is not that of the archive"));

  EXPECT_EQ(ParseNpz("", "x.npz").status(),
            absl::DataLossError("x.npz: there is no end of a zip archive; the file was cut, or is "
                                "no zip archive (.npz)"));
  EXPECT_EQ(LoadNpz(folder.Path("none.npz")).status().code(), absl::StatusCode::kNotFound);
}

TEST(Npz, WhatAnArchiveCannotHoldIsNotWritten) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("x.npz");
  Scope rows;
  rows.Set("w", SelectedRows{{1}, 3, Tensor::FromValues<float>({1, 2}, {1, 2})});
  EXPECT_EQ(Save(rows, path),
            absl::UnimplementedError(absl::StrCat(
                path, ": variable \"w\": it holds selected rows, which an array does not")));
  Scope bf16;
  bf16.Set("w", *Tensor::Allocate(VarType::BF16, {0}));
  EXPECT_EQ(Save(bf16, path), absl::UnimplementedError(absl::StrCat(
                                  path, ": variable \"w\": NumPy has no BF16; save it as FP32")));
  Scope name;
  name.Set(std::string("a\0b", 3), Tensor::FromValues<float>({}, {1}));
  EXPECT_EQ(Save(name, path),
            absl::InvalidArgumentError(absl::StrCat(
                path,
                ": variable \"a\\000b\": \"a\\000b.npy\" cannot be the name of a member of a "
                "zip archive")));
  EXPECT_THAT(folder.Files(), IsEmpty());
}

}  // namespace
}  // namespace fixpoint
