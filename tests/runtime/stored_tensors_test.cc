#include "runtime/stored_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "runtime/scope.h"
#include "tests/runtime/parameter_program.h"
#include "tests/testing/saved_parameters.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StoredTensors : public testing::Test {
 protected:
  StoredTensors() {
    scope_.Set("fc/w", Tensor::FromValues<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
    scope_.Set("b", Tensor::FromValues<int8_t>({2}, {1, -1}));
  }

  // "name[dims]" of each tensor that is visited.
  absl::StatusOr<std::vector<FileLeftOut>> Visit(const std::string& path) {
    visited_.clear();
    return VisitStoredTensors(path, [this](absl::string_view name, const Tensor& tensor) {
      visited_.push_back(absl::StrCat(name, DimsText(tensor.dims())));
    });
  }

  const ProgramDesc program_ = ProgramWith({{"fc/w", {2, 3}}, {"b", {2}}});
  Scope scope_;
  TemporaryFolder folder_;
  std::vector<std::string> visited_;
};

TEST_F(StoredTensors, OfACombinedFileHaveNoNames) {
  ASSERT_TRUE(SaveCombinedParameters(program_, scope_, folder_.Path("all")).ok());
  const auto left_out = Visit(folder_.Path("all"));
  ASSERT_TRUE(left_out.ok()) << left_out.status();
  EXPECT_THAT(*left_out, IsEmpty());
  EXPECT_THAT(visited_, ElementsAre("[2]", "[2, 3]"));
}

TEST_F(StoredTensors, OfAFolderAreNamedByTheirFiles) {
  ASSERT_TRUE(SaveSeparateParameters(program_, scope_, folder_.Path("params")).ok());
  folder_.Write("params/__model__", "\x0a\x02\x08\x01");
  const auto left_out = Visit(folder_.Path("params"));
  ASSERT_TRUE(left_out.ok()) << left_out.status();
  ASSERT_EQ(left_out->size(), 1);
  EXPECT_EQ(left_out->front().name, "__model__");
  EXPECT_FALSE(left_out->front().why.ok());
  EXPECT_THAT(visited_, ElementsAre("b[2]", "fc/w[2, 3]"));
}

TEST_F(StoredTensors, ThatEndTooEarlyAreAnErrorWithFileAndByte) {
  ASSERT_TRUE(SaveCombinedParameters(program_, scope_, folder_.Path("all")).ok());
  const std::string bytes = folder_.Read("all");
  const std::string cut = folder_.Write("cut", bytes.substr(0, bytes.size() - 4));
  const absl::Status status = Visit(cut).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(cut, ": byte ")));
  EXPECT_THAT(visited_, ElementsAre("[2]"));
}

TEST_F(StoredTensors, ACombinedFileInAFolderIsNamedItself) {
  ASSERT_TRUE(SaveCombinedParameters(program_, scope_, folder_.Path("__params__")).ok());
  const absl::Status status = Visit(folder_.Path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("a combined file is named itself, not its folder"));
}

TEST_F(StoredTensors, AFolderWithoutAnyIsAnError) {
  EXPECT_EQ(Visit(folder_.Path()).status().message(),
            absl::StrCat(folder_.Path(), ": no file of the folder holds a tensor"));
  folder_.Write("notes.txt", "no tensor");
  EXPECT_THAT(std::string(Visit(folder_.Path()).status().message()),
              HasSubstr("no file of the folder holds a tensor; notes.txt: byte "));
}

}  // namespace
}  // namespace fixpoint
