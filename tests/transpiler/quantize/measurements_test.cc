#include "transpiler/quantize/measurements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/temporary_folder.h"
#include "transpiler/quantize/network_cost.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<RunSetting> kSettings = {{"PROGRAM", "PROGRAM of checksum 1f"},
                                           {"--seed", "--seed=3"}};

// Counts how often it was asked.
struct Counter {
  int asked = 0;
  absl::StatusOr<Measured> Measure() { return Measured{0.1 * ++asked, 0.3}; }
};

TEST(Measurements, NothingIsMeasuredTwice) {
  const TemporaryFolder folder;
  Counter counter;
  const auto measure = [&] { return counter.Measure(); };
  Measurements measurements(kSettings, folder.Path("state"));
  EXPECT_EQ(measurements.Get("noise", {0, 1}, measure)->value, 0.1);
  EXPECT_EQ(measurements.Get("noise", {0, 1}, measure)->value, 0.1);
  EXPECT_EQ(measurements.Get("noise", {1, 0}, measure)->value, 0.2);
  EXPECT_EQ(measurements.Get("metric", {1, 0}, measure)->value, 0.1 * 3);
  EXPECT_EQ(measurements.count(), 3);

  Measurements resumed(kSettings, folder.Path("state"));
  ASSERT_TRUE(resumed.Load().ok());
  EXPECT_EQ(resumed.count(), 3);
  EXPECT_EQ(resumed.Get("metric", {1, 0}, measure)->value, 0.1 * 3) << "to the bit";
  EXPECT_EQ(counter.asked, 3);
  EXPECT_EQ(resumed.Find("noise", {0, 1})->standard_error, 0.3);
  EXPECT_FALSE(resumed.Find("noise", {1, 1}));
}

TEST(Measurements, AnotherRunIsRefused) {
  const TemporaryFolder folder;
  Measurements measurements(kSettings, folder.Path("state"));
  ASSERT_TRUE(measurements.Save().ok());
  std::vector<RunSetting> other = kSettings;
  other[1].text = "--seed=4";
  const absl::Status status = Measurements(other, folder.Path("state")).Load();
  EXPECT_EQ(status, absl::InvalidArgumentError(
                        absl::StrCat(folder.Path("state"),
                                     ": was saved by a run with --seed=3, and this one has "
                                     "--seed=4; want the same, or no --resume")));
  other.pop_back();
  EXPECT_FALSE(Measurements(other, folder.Path("state")).Load().ok());
  EXPECT_TRUE(Measurements(kSettings, folder.Path("none")).Load().ok());
  folder.Write("broken", "settings {");
  EXPECT_FALSE(Measurements(kSettings, folder.Path("broken")).Load().ok());
}

TEST(Measurements, WhatFailsIsNotKept) {
  const TemporaryFolder folder;
  Measurements measurements(kSettings, folder.Path("state"));
  const absl::Status error = absl::InvalidArgumentError("no");
  EXPECT_EQ(
      measurements.Get("noise", {0}, [&] { return absl::StatusOr<Measured>(error); }).status(),
      error);
  EXPECT_EQ(measurements.count(), 0);
  EXPECT_THAT(folder.Files(), ElementsAre());
  Measurements nowhere(kSettings, folder.Path("missing/state"));
  EXPECT_EQ(nowhere.Get("noise", {0}, [] { return Measured{1}; }).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(Budget, IsBytesOrTime) {
  EXPECT_EQ(Budget::Parse("4MB")->most, 4e6);
  EXPECT_EQ(Budget::Parse("300KB")->most, 300e3);
  EXPECT_EQ(Budget::Parse("20000B")->of, Budget::Of::kBytes);
  EXPECT_EQ(Budget::Parse("0.5ms")->most, 0.5);
  EXPECT_EQ(Budget::Parse("0.5ms")->of, Budget::Of::kMilliseconds);
  for (const char* wrong : {"", "4", "MB", "-4MB", "0B", "nanms", "4 apples"}) {
    EXPECT_FALSE(Budget::Parse(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace fixpoint
