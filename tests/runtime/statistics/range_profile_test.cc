#include "runtime/statistics/range_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "proto/config/quant_spec.pb.h"
#include "proto/config/range_profile.pb.h"
#include "proto/file/text_message.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;

ValueStatistics StatisticsOfSamples(const std::vector<std::vector<float>>& samples) {
  ValueStatistics statistics;
  for (const std::vector<float>& sample : samples) {
    float largest = 0;
    for (const float value : sample) {
      if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    }
    EXPECT_EQ(statistics.histogram.Add(sample), largest);
    statistics.AddSample(largest);
  }
  return statistics;
}

RangeProfile ProfileOf(const std::string& text) {
  RangeProfile profile;
  EXPECT_TRUE(ParseTextMessage(text, "profile", &profile).ok());
  return profile;
}

RangeProfile::Entry ParsedEntry(const std::string& text) {
  return ProfileOf("entries { " + text + " }").entries(0);
}

TEST(RangeProfile, KeepsStatisticsAsText) {
  const ValueStatistics statistics = StatisticsOfSamples(
      {{0.1f, -3e-30f, 3e38f}, {0, -0.0f}, {std::numeric_limits<float>::infinity(), 1.0f / 3}});
  RangeProfile profile;
  *profile.add_entries() = EntryOf("x", statistics);
  const std::string text = PrintTextMessage(profile);
  const auto read = StatisticsOf(ProfileOf(text).entries(0));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->histogram.positive(), statistics.histogram.positive());
  EXPECT_EQ(read->histogram.negative(), statistics.histogram.negative());
  EXPECT_EQ(read->histogram.min(), -3e-30f);
  EXPECT_EQ(read->histogram.max(), 3e38f);
  EXPECT_EQ(read->histogram.infinite_count(), 1);
  EXPECT_EQ(read->average_sum, statistics.average_sum);
  EXPECT_EQ(read->average_weight, statistics.average_weight);
  EXPECT_EQ(read->samples, 3);
  RangeProfile again;
  *again.add_entries() = EntryOf("x", *read);
  EXPECT_EQ(PrintTextMessage(again), text);
}

TEST(RangeProfile, StoresBinsThatAreNotEmpty) {
  EXPECT_EQ(PrintTextMessage(EntryOf("x", StatisticsOfSamples({{1, 1, -2, 0}}))),
            "variable: \"x\"\n"
            "min: -2\n"
            "max: 1\n"
            "samples: 1\n"
            "count: 4\n"
            "moving_average {\n"
            "  sum: 2\n"
            "  weight: 1\n"
            "}\n"
            "positive {\n"
            "  bins: [0, 4064]\n"
            "  counts: [1, 2]\n"
            "}\n"
            "negative {\n"
            "  bins: [4096]\n"
            "  counts: [1]\n"
            "}\n");
}

// The average of 1, 2, 3 by its definition: weights 0.99^2, 0.99 and 1.
TEST(RangeProfile, AveragesTheLargestMagnitudesOfSamples) {
  const ValueStatistics statistics = StatisticsOfSamples({{1}, {-2, 1}, {3, 0}});
  EXPECT_DOUBLE_EQ(statistics.MovingAverage(), (0.9801 * 1 + 0.99 * 2 + 3) / (0.9801 + 0.99 + 1));
  EXPECT_EQ(ValueStatistics().MovingAverage(), 0);
}

TEST(RangeProfile, MergesWhatOneRunOverAllSamplesGives) {
  RangeProfile first = ProfileOf("program_hash: 1 parameters_hash: 2 samples { ids: [0, 1] }");
  RangeProfile second = ProfileOf("program_hash: 1 parameters_hash: 2 samples { ids: [2] }");
  *first.add_entries() = EntryOf("x", StatisticsOfSamples({{1, -5}, {2, 0.1f}}));
  *second.add_entries() = EntryOf("x", StatisticsOfSamples({{7, -1}}));
  *second.add_entries() = EntryOf("y", StatisticsOfSamples({{4}}));
  ASSERT_TRUE(MergeProfiles(second, &first).ok());
  ASSERT_EQ(first.entries_size(), 2);
  const auto merged = StatisticsOf(first.entries(0));
  ASSERT_TRUE(merged.ok());
  const ValueStatistics all = StatisticsOfSamples({{1, -5}, {2, 0.1f}, {7, -1}});
  EXPECT_EQ(merged->histogram.positive(), all.histogram.positive());
  EXPECT_EQ(merged->histogram.negative(), all.histogram.negative());
  EXPECT_EQ(merged->histogram.min(), -5);
  EXPECT_EQ(merged->histogram.max(), 7);
  EXPECT_EQ(merged->samples, 3);
  EXPECT_DOUBLE_EQ(merged->MovingAverage(), all.MovingAverage());
  EXPECT_EQ(first.entries(1).variable(), "y");
  ASSERT_EQ(first.samples_size(), 1);
  EXPECT_THAT(first.samples(0).ids(), ::testing::ElementsAre(0, 1, 2));
}

TEST(RangeProfile, RefusesToMergeWhatDoesNotBelongTogether) {
  const std::string entry = " entries { variable: \"x\" min: 0 max: 1 }";
  const RangeProfile profile = ProfileOf(
      "program_hash: 1 parameters_hash: 2 samples { data: \"digits\" data_hash: 3 ids: [0, 8] }" +
      entry);
  const auto message = [&profile](const std::string& later) {
    RangeProfile merged = profile;
    const absl::Status status = MergeProfiles(ProfileOf(later), &merged);
    EXPECT_EQ(PrintTextMessage(merged), PrintTextMessage(profile)) << "changed by an error";
    return std::string(status.message());
  };
  EXPECT_EQ(message("program_hash: 9 parameters_hash: 2"),
            "was made with other program than the profile before: checksum 0000000000000009 and "
            "0000000000000001");
  EXPECT_THAT(message("program_hash: 1"), HasSubstr("other parameters"));
  const std::string same = "program_hash: 1 parameters_hash: 2";
  EXPECT_EQ(message(same + " samples { data: \"d\" data_hash: 3 ids: [7, 8] }"),
            "sample 8 of d is in a profile before too; want each sample once");
  EXPECT_EQ(message(same + entry + entry), "\"x\": is there twice");
  EXPECT_EQ(message(same + " entries { variable: \"x\" positive { bins: [1] counts: [1] } }"),
            "\"x\": has a distribution in one profile and none in another");
  RangeProfile of_other_data = profile;
  EXPECT_TRUE(
      MergeProfiles(ProfileOf(same + " samples { data_hash: 4 ids: [8] }"), &of_other_data).ok());
}

TEST(RangeProfile, NamesWhatIsWrongWithAnEntry) {
  const auto message = [](const std::string& text) {
    return std::string(StatisticsOf(ParsedEntry("variable: \"x\" " + text)).status().message());
  };
  EXPECT_EQ(message("positive { bins: [1, 2] counts: [1] }"),
            "\"x\": positive has 2 bins and 1 counts; want as many of both");
  EXPECT_EQ(message("negative { bins: [2, 2] counts: [1, 1] }"),
            "\"x\": negative has bin 2 after bin 2; want them ascending, below 8160");
  EXPECT_THAT(message("positive { bins: [8160] counts: [1] }"), HasSubstr("bin 8160 after bin -1"));
  EXPECT_THAT(message("positive { bins: [-3] counts: [1] }"), HasSubstr("bin -3"));
  EXPECT_THAT(message("positive { bins: [3] counts: [-1] }"), HasSubstr("counts -1 values"));
  EXPECT_THAT(message("positive { bins: [3] counts: [9223372036854775807] } "
                      "negative { bins: [3] counts: [1] }"),
              HasSubstr("less than 2^63 in all"));
  EXPECT_EQ(message("count: 3 positive { bins: [3] counts: [1] }"),
            "\"x\": count is 3, and its bins have 1 values");
  EXPECT_THAT(message("min: 2 max: 1"), HasSubstr("goes from 2 to 1"));
  EXPECT_THAT(message("max: nan"), HasSubstr("a range is finite"));
  EXPECT_THAT(message("moving_average { weight: -1 }"), HasSubstr("negative or not finite"));
  EXPECT_EQ(message("max: 1"), "");
}

TEST(RangeProfile, GivesTheRangeThatARuleChooses) {
  std::vector<float> values(100000, 0.5f);
  values.push_back(100);
  RangeProfile::Entry entry = EntryOf("x", StatisticsOfSamples({values}));
  QuantSpec spec;
  spec.set_range_rule(QuantSpec::PERCENTILE);
  spec.set_scheme(QuantSpec::SYMMETRIC);
  spec.set_bits(8);
  EXPECT_NEAR(ChooseRange(entry, spec)->max, 0.5f, 0.02);
  EXPECT_EQ(ChooseRange(entry, spec)->min, 0.5f);
  spec.set_range_rule(QuantSpec::MIN_MAX);
  EXPECT_EQ(*ChooseRange(entry, spec), (ValueRange{0.5f, 100}));
}

TEST(RangeProfile, AMovingAverageOfSamplesIsARangeToo) {
  RangeProfile::Entry entry = EntryOf("x", StatisticsOfSamples({{-1, 1}, {-1, 6}, {-2, 2}}));
  QuantSpec spec;
  spec.set_range_rule(QuantSpec::MOVING_AVERAGE);
  const double average = (0.99 * 0.99 * 1 + 0.99 * 6 + 2) / (0.99 * 0.99 + 0.99 + 1);
  EXPECT_EQ(*ChooseRange(entry, spec), (ValueRange{-2, static_cast<float>(average)}));
  entry.set_min(-1.5f);
  EXPECT_EQ(ChooseRange(entry, spec)->min, -1.5f) << "which was narrowed by hand";
  entry.clear_moving_average();
  EXPECT_EQ(*ChooseRange(entry, spec), (ValueRange{-1.5f, 6})) << "which has none";
}

TEST(RangeProfile, ARangeThatWasEditedIsTaken) {
  RangeProfile::Entry entry = EntryOf("x", StatisticsOfSamples({{-4, 1, 2, 3, 4}}));
  QuantSpec spec;
  spec.set_scheme(QuantSpec::SYMMETRIC);
  spec.set_bits(8);
  entry.set_max(2.5f);
  EXPECT_EQ(*ChooseRange(entry, spec), (ValueRange{-4, 2.5f})) << "by min and max";
  spec.set_range_rule(QuantSpec::KL);
  EXPECT_LE(ChooseRange(entry, spec)->max, 2.5f) << "a bound for other rules";
  spec.set_range_rule(QuantSpec::PERCENTILE);
  EXPECT_EQ(*ChooseRange(ParsedEntry("variable: \"x\" min: -9 max: 8"), spec), (ValueRange{-9, 8}))
      << "without a distribution";
}

}  // namespace
}  // namespace fixpoint
