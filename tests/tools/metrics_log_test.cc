#include "tools/metrics_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::IsEmpty;

TEST(MetricsLog, GoesOnAfterWhatACheckpointKnowsOf) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("metrics");
  {
    MetricsLog log = *MetricsLog::Open(path, 0);
    ASSERT_EQ(log.Append("one\n"), absl::OkStatus());
    EXPECT_EQ(*log.Sync(), 4);
    ASSERT_EQ(log.Append("lost\n"), absl::OkStatus());
  }
  MetricsLog log = *MetricsLog::Open(path, 4);
  ASSERT_EQ(log.Append("two\n"), absl::OkStatus());
  EXPECT_EQ(folder.Read("metrics"), "one\ntwo\n");
  ASSERT_TRUE(MetricsLog::Open(path, 0).ok());
  EXPECT_EQ(folder.Read("metrics"), "");
}

TEST(MetricsLog, WithoutAPathNothingIsWritten) {
  MetricsLog log = *MetricsLog::Open("", 0);
  EXPECT_FALSE(log.is_open());
  EXPECT_EQ(log.Append("line\n"), absl::OkStatus());
  EXPECT_EQ(*log.Sync(), 0);
}

TEST(MetricsLog, ANewFileWithoutLinesIsRemoved) {
  const TemporaryFolder folder;
  { const auto none = MetricsLog::Open(folder.Path("new"), 0); }
  EXPECT_THAT(folder.Files(), IsEmpty());
  folder.Write("old", "line\n");
  { const auto none = MetricsLog::Open(folder.Path("old"), 0); }
  EXPECT_EQ(folder.Read("old"), "");
}

TEST(MetricsLog, WhatCannotBeWrittenIsAnError) {
  const TemporaryFolder folder;
  EXPECT_EQ(
      MetricsLog::Open(folder.Path(), 0).status(),
      absl::UnavailableError(absl::StrCat(folder.Path(), ": cannot be written: Is a directory")));
  MetricsLog full = *MetricsLog::Open("/dev/full", 0);
  EXPECT_EQ(full.Append("line\n"),
            absl::UnavailableError("/dev/full: cannot be written: No space left on device"));
}

}  // namespace
}  // namespace fixpoint
