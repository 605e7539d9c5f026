// Data sets by name, and the files that belong to them.

#include "runtime/data/data_set.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/tensor.h"
#include "tests/testing/gzip_bytes.h"
#include "tests/testing/hex_bytes.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

TEST(DataSetName, IsAKindAndWhereItIs) {
  EXPECT_EQ(ParseDataSetName("digits")->count, 10000);
  EXPECT_EQ(ParseDataSetName("digits:50")->count, 50);
  EXPECT_EQ(ParseDataSetName("color_digits")->count, 10000);
  EXPECT_EQ(ParseDataSetName("color_digits:50")->count, 50);
  EXPECT_EQ(ParseDataSetName("mnist:/data/mnist")->folder, "/data/mnist");
  EXPECT_EQ(ParseDataSetName("cifar10:a:b")->folder, "a:b");
}

TEST(DataSetName, WhatIsNoneIsToldWhatThereIs) {
  EXPECT_EQ(ParseDataSetName("imagenet:x").status(),
            absl::NotFoundError("\"imagenet:x\" is not a data set; want mnist:FOLDER, "
                                "cifar10:FOLDER, digits[:N] or color_digits[:N]"));
  EXPECT_FALSE(ParseDataSetName("mnist").ok());
  EXPECT_FALSE(ParseDataSetName("mnist:").ok());
  for (const char* count : {"4", "-1", "many", "", "4294967296"}) {
    EXPECT_EQ(ParseDataSetName(absl::StrCat("digits:", count)).status(),
              absl::InvalidArgumentError(absl::StrCat("\"digits:", count, "\" asks for ", count,
                                                      " digits; want a number from 5 to "
                                                      "4294967295")));
  }
}

TEST(DataSet, DigitsToTestOnAreAFifthAndOthers) {
  const DataSetName name = *ParseDataSetName("digits:50");
  const ImageSet training = *LoadTrainingSet(name);
  const ImageSet test = *LoadTestSet(name);
  EXPECT_EQ(training.images.dims(), std::vector<int64_t>({50, 1, 28, 28}));
  EXPECT_EQ(test.images.dims(), std::vector<int64_t>({10, 1, 28, 28}));
  EXPECT_NE(training.images.bytes().subspan(0, 784), test.images.bytes().subspan(0, 784));
}

TEST(DataSet, ColorDigitsHaveTheShapeOfCifarAndTheLabelsOfDigits) {
  const DataSetName name = *ParseDataSetName("color_digits:50");
  const ImageSet training = *LoadTrainingSet(name);
  const ImageSet test = *LoadTestSet(name);
  EXPECT_EQ(training.images.dims(), std::vector<int64_t>({50, 3, 32, 32}));
  EXPECT_EQ(test.images.dims(), std::vector<int64_t>({10, 3, 32, 32}));
  EXPECT_EQ(training.labels.data<int64_t>()[13], 3);
  EXPECT_NE(training.images.bytes().subspan(0, 3072), test.images.bytes().subspan(0, 3072));
}

TEST(DataSet, MnistHasFourFilesEachGzippedOrNot) {
  const TemporaryFolder folder;
  folder.Write("train-images-idx3-ubyte", HexBytes("00000803 00000002 00000001 00000001 0001"));
  folder.Write("train-labels-idx1-ubyte.gz", GzipBytes(HexBytes("00000801 00000002 0709")));
  const DataSetName name = *ParseDataSetName("mnist:" + folder.Path());
  const ImageSet set = *LoadTrainingSet(name);
  EXPECT_EQ(set.labels.data<int64_t>()[1], 9);
  const absl::Status status = LoadTestSet(name).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("t10k-labels-idx1-ubyte: "), std::string::npos) << status;
}

TEST(DataSet, CifarHasBatchesInTheOrderOfTheirNames) {
  const TemporaryFolder folder;
  const auto batch = [](char label) { return std::string(1, label) + std::string(3072, 'x'); };
  folder.Write("data_batch_2.bin", batch(2));
  folder.Write("data_batch_1.bin.gz", GzipBytes(batch(1)));
  folder.Write("data_batch_3.txt", "no batch");
  folder.Write("test_batch.bin", batch(5));
  const DataSetName name = *ParseDataSetName("cifar10:" + folder.Path());
  const ImageSet training = *LoadTrainingSet(name);
  EXPECT_EQ(training.labels.size(), 2);
  EXPECT_EQ(training.labels.data<int64_t>()[0], 1);
  EXPECT_EQ(LoadTestSet(name)->labels.data<int64_t>()[0], 5);
}

TEST(DataSet, WithoutBatchesOfCifarThereIsNone) {
  const TemporaryFolder folder;
  EXPECT_EQ(LoadTestSet(*ParseDataSetName("cifar10:" + folder.Path())).status(),
            absl::NotFoundError(
                absl::StrCat(folder.Path(), ": has no batch of CIFAR-10; want test*.bin")));
  EXPECT_EQ(LoadTestSet(*ParseDataSetName("cifar10:" + folder.Path("none"))).status(),
            absl::NotFoundError(
                absl::StrCat(folder.Path("none"), ": cannot be read: No such file or directory")));
}

}  // namespace
}  // namespace fixpoint
