#include "runtime/scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace fixpoint {
namespace {

using ::testing::ElementsAre;

SelectedRows RowsOf(std::vector<int64_t> rows, absl::Span<const float> values) {
  const auto count = static_cast<int64_t>(rows.size());
  return {std::move(rows), /*height=*/10, Tensor::FromValues<float>({count, 1}, values)};
}

std::vector<std::string> Names(const Scope& scope) {
  std::vector<std::string> names;
  for (const auto& [name, value] : scope) names.push_back(name);
  return names;
}

TEST(Scope, IteratesInByteWiseOrderOfTheNames) {
  Scope scope;
  for (const char* name : {"fc_10.w_0", "fc_2.w_0", "\xc3\xa9", "fc_10.w_00", "Fc"}) {
    scope.Set(name, Tensor::FromValues<float>({}, {0.0f}));
  }
  EXPECT_THAT(Names(scope), ElementsAre("Fc", "fc_10.w_0", "fc_10.w_00", "fc_2.w_0", "\xc3\xa9"));
}

TEST(Scope, SetReplaces) {
  Scope scope;
  scope.Set("w", Tensor::FromValues<float>({2}, {1, 2}));
  scope.Set("w", Tensor::FromValues<int8_t>({1}, {3}));
  EXPECT_EQ(scope.size(), 1u);
  EXPECT_THAT((*scope.Find("w"))->data<int8_t>(), ElementsAre(3));
}

TEST(Scope, FindOrNullGivesWhatCanBeWritten) {
  Scope scope;
  scope.Set("w", Tensor::FromValues<float>({2}, {1, 2}));
  std::get<Tensor>(*scope.FindOrNull("w")).mutable_data<float>()[0] = 5;
  EXPECT_THAT((*scope.Find("w"))->data<float>(), ElementsAre(5, 2));
}

// Holders of pointers to values learn from it that the values may have moved.
TEST(Scope, HasARevisionForWhatItHolds) {
  Scope one;
  Scope other;
  one.Set("w", Tensor::FromValues<float>({1}, {1}));
  other.Set("w", Tensor::FromValues<float>({1}, {2}));
  EXPECT_NE(one.revision(), other.revision());
  const uint64_t revision = other.revision();
  const Scope::Value* const value = other.FindOrNull("w");
  one = std::move(other);
  EXPECT_EQ(one.revision(), revision);
  EXPECT_EQ(one.FindOrNull("w"), value);
  EXPECT_EQ(other.revision(), Scope().revision());
  EXPECT_EQ(other.size(), 0u);
  one.Set("w", Tensor::FromValues<float>({1}, {3}));
  EXPECT_NE(one.revision(), revision);
}

TEST(Scope, FindSaysWhatIsMissing) {
  Scope scope;
  scope.Set("rows", RowsOf({1}, {2}));
  EXPECT_EQ(scope.Find("w").status(), absl::NotFoundError("variable \"w\" is not in the scope"));
  EXPECT_EQ(scope.Find("rows").status(),
            absl::FailedPreconditionError("variable \"rows\" holds selected rows, not a tensor"));
  EXPECT_EQ(scope.FindOrNull("w"), nullptr);
}

TEST(Scope, ACopyOfAValueIsApartFromIt) {
  Scope scope;
  scope.Set("rows", RowsOf({1, 4}, {2, 3}));
  absl::StatusOr<Scope::Value> copied = Scope::CloneOf(*scope.FindOrNull("rows"));
  ASSERT_TRUE(copied.ok()) << copied.status();
  auto& original = std::get<SelectedRows>(*scope.FindOrNull("rows"));
  original.rows[0] = 7;
  original.value.mutable_data<float>()[0] = 5;
  const auto& rows = std::get<SelectedRows>(*copied);
  EXPECT_THAT(rows.rows, ElementsAre(1, 4));
  EXPECT_EQ(rows.height, 10);
  EXPECT_THAT(rows.value.data<float>(), ElementsAre(2, 3));
}

TEST(Scope, PointersStayValidWhileOthersAreSet) {
  Scope scope;
  scope.Set("m", Tensor::FromValues<float>({}, {1.0f}));
  const Tensor* tensor = *scope.Find("m");
  for (char name = 'a'; name <= 'z'; ++name) {
    if (name != 'm') scope.Set(std::string(1, name), Tensor::FromValues<float>({}, {0.0f}));
  }
  EXPECT_EQ(*scope.Find("m"), tensor);
}

}  // namespace
}  // namespace fixpoint
