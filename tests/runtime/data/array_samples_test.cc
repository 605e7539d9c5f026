// Samples in arrays: of a row each, of sequences, in memory and in files.

#include "runtime/data/array_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/backend.h"
#include "runtime/data/batcher.h"
#include "runtime/data/data_source.h"
#include "runtime/npy.h"
#include "runtime/npz.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::absl::InvalidArgumentError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
NamedArray Array(const std::string& name, std::vector<int64_t> dims, std::vector<T> values) {
  return {name, StoredArray(name, Tensor::FromValues<T>(std::move(dims), values))};
}

template <typename... Arrays>
absl::StatusOr<ArraySamples> SamplesOf(Arrays... arrays) {
  return ArraySamples::Create("arrays", {std::move(arrays)...});
}

// The first field of some samples, as it is stored.
Tensor ReadFirst(const SampleSet& set, std::vector<int64_t> samples) {
  absl::StatusOr<std::vector<Tensor>> read = set.Read(samples, {{0, set.fields()[0].dims}});
  EXPECT_TRUE(read.ok()) << read.status();
  return std::move(read->at(0));
}

TEST(ArraySamples, AreTheRowsOfArrays) {
  const auto samples = SamplesOf(Array<float>("x", {3, 2}, {0, 1, 10, 11, 20, 21}),
                                 Array<int32_t>("y", {3}, {7, 8, 9}));
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(samples->size(), 3);
  EXPECT_EQ(samples->fields()[0].dtype, VarType::FP32);
  EXPECT_EQ(samples->fields()[1].dtype, VarType::INT32);
  EXPECT_EQ(samples->NameOf(1), "arrays: sample 1");
  const auto read = samples->Read({2, 0}, {{1, {1}}, {0, {2}}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT((*read)[0].dims(), ElementsAre(2, 1));
  EXPECT_THAT((*read)[0].data<int32_t>(), ElementsAre(9, 7));
  EXPECT_THAT((*read)[1].data<float>(), ElementsAre(20, 21, 0, 1));
  EXPECT_TRUE((*read)[1].lod().empty());
}

TEST(ArraySamples, OffsetsAndLengthsCutRowsIntoSequences) {
  for (const bool is_lod : {false, true}) {
    const auto samples = SamplesOf(Array<float>("x", {6, 1}, {0, 1, 2, 3, 4, 5}),
                                   is_lod ? Array<int64_t>("x.lod", {5}, {0, 2, 2, 3, 6})
                                          : Array<int64_t>("x.lengths", {4}, {2, 0, 1, 3}),
                                   Array<int64_t>("y", {4}, {0, 1, 2, 3}));
    ASSERT_TRUE(samples.ok()) << samples.status();
    EXPECT_EQ(samples->size(), 4);
    ASSERT_EQ(samples->fields().size(), 2u);
    EXPECT_EQ(samples->fields()[0].lod_levels, 1);
    const Tensor x = ReadFirst(*samples, {3, 1, 0});
    EXPECT_THAT(x.dims(), ElementsAre(5, 1));
    EXPECT_THAT(x.data<float>(), ElementsAre(3, 4, 5, 0, 1));
    EXPECT_THAT(x.lod(), ElementsAre(ElementsAre(0, 3, 3, 5)));
    EXPECT_THAT(ReadFirst(*samples, {1}).dims(), ElementsAre(0, 1));
  }
}

// Two documents, of sentences of 2 and 1 words, and of 3 words.
TEST(ArraySamples, SequencesMayBeNested) {
  const auto samples = SamplesOf(Array<float>("x", {6, 1}, {0, 1, 2, 3, 4, 5}),
                                 Array<int64_t>("x.lod", {2, 4}, {0, 2, 3, -1, 0, 2, 3, 6}));
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(samples->size(), 2);
  const Tensor x = ReadFirst(*samples, {1, 0});
  EXPECT_THAT(x.data<float>(), ElementsAre(3, 4, 5, 0, 1, 2));
  EXPECT_THAT(x.lod(), ElementsAre(ElementsAre(0, 1, 3), ElementsAre(0, 3, 5, 6)));
}

TEST(ArraySamples, WithoutOffsetsRowsAreNoSequences) {
  const auto samples =
      SamplesOf(Array<float>("x", {2, 1}, {0, 1}), Array<int64_t>("x.lod", {0}, {}));
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(samples->size(), 2);
  EXPECT_EQ(samples->fields()[0].lod_levels, 0);
}

TEST(ArraySamples, SayWhatIsWrong) {
  const auto x = Array<float>("x", {3, 1}, {0, 1, 2});
  EXPECT_EQ(SamplesOf(x, Array<float>("y", {2}, {0, 1})).status(),
            InvalidArgumentError("y: \"y\" has 2 samples, and \"x\" has 3; want as many"));
  EXPECT_EQ(SamplesOf(Array<float>("s", {}, {0})).status(),
            InvalidArgumentError("s: the array has one element and no axis; want samples along its "
                                 "first axis"));
  EXPECT_EQ(SamplesOf(Array<float>("x", {0, 1}, {})).status(),
            InvalidArgumentError("arrays: has no samples"));
  EXPECT_EQ(ArraySamples::Create("arrays", {}).status(),
            InvalidArgumentError("arrays: has no arrays"));
  EXPECT_EQ(
      SamplesOf(x, Array<int64_t>("x.lod", {2}, {0, 3}), Array<int64_t>("x.lengths", {1}, {3}))
          .status(),
      InvalidArgumentError("x.lengths: both \"x.lod\" and \"x.lengths\" cut \"x\" into "
                           "sequences; want one of them"));
  EXPECT_EQ(SamplesOf(x, Array<int64_t>("x.lod", {3}, {0, 2, 1})).status(),
            InvalidArgumentError("x.lod: LoD level 0 descends from the offset 2 to 1"));
  EXPECT_EQ(SamplesOf(x, Array<int64_t>("x.lod", {2}, {0, 2})).status(),
            InvalidArgumentError("x.lod: LoD level 0 ends at 2; there are 3 rows"));
  EXPECT_EQ(SamplesOf(x, Array<int64_t>("x.lod", {3}, {0, -2, 3})).status(),
            InvalidArgumentError("x.lod: an offset is -2; want 0 or more, and -1 after the last"));
  EXPECT_EQ(SamplesOf(x, Array<int64_t>("x.lengths", {2}, {4, -1})).status(),
            InvalidArgumentError("x.lengths: a length is -1; want 0 or more"));
  EXPECT_EQ(SamplesOf(x, Array<float>("x.lengths", {1}, {3})).status(),
            InvalidArgumentError("x.lengths: it is FP32 [1]; want INT64 or INT32 [sequences]"));
  EXPECT_EQ(
      SamplesOf(x, Array<int32_t>("x.lod", {2}, {0, 3})).status(),
      InvalidArgumentError("x.lod: it is INT32 [2]; want INT64 [offsets] or [levels, offsets]"));
}

std::string Npy(const Tensor& tensor) { return NpyBytes(tensor).value(); }

TEST(ArraySamples, OfFilesAreThoseOfMemory) {
  const TemporaryFolder folder;
  std::vector<float> values;
  for (int i = 0; i < 60; ++i) values.push_back(static_cast<float>(i));
  const Tensor x = Tensor::FromValues<float>({20, 3}, values);
  std::vector<int64_t> labels(20, 5);
  const Tensor y = Tensor::FromValues<int64_t>({20}, labels);
  folder.Write("x.npy", Npy(x));
  folder.Write("y.npy", Npy(y));
  Scope scope;
  scope.Set("x", x.Clone().value());
  scope.Set("y", y.Clone().value());
  std::string npz;
  ASSERT_EQ(WriteNpz(scope,
                     [&](absl::string_view bytes) {
                       absl::StrAppend(&npz, bytes);
                       return absl::OkStatus();
                     }),
            absl::OkStatus());
  folder.Write("all.npz", npz);

  const auto open = [](const std::string& text) {
    const absl::StatusOr<DataSource> source = ParseDataSource(text);
    EXPECT_TRUE(source.ok()) << source.status();
    return OpenSamples(*source, DataPart::kTraining);
  };
  const auto of_npz = open(absl::StrCat("npz:", folder.Path("all.npz")));
  const auto of_npy =
      open(absl::StrCat("npy:x=", folder.Path("x.npy"), ",y=", folder.Path("y.npy")));
  ASSERT_TRUE(of_npz.ok()) << of_npz.status();
  ASSERT_TRUE(of_npy.ok()) << of_npy.status();
  EXPECT_EQ((*of_npz)->NameOf(3), absl::StrCat(folder.Path("all.npz"), ": sample 3"));
  for (const SampleSet* set : {of_npz->get(), of_npy->get()}) {
    EXPECT_EQ(set->size(), 20);
    EXPECT_THAT(ReadFirst(*set, {19, 4}).data<float>(), ElementsAre(57, 58, 59, 12, 13, 14));
  }
  EXPECT_EQ(*(*of_npz)->Checksum(), *(*of_npy)->Checksum());
  values[59] = 0;
  folder.Write("x.npy", Npy(Tensor::FromValues<float>({20, 3}, values)));
  EXPECT_NE(*(*of_npz)->Checksum(), *(*of_npy)->Checksum());
}

TEST(ArraySamples, AFileThatIsDamagedIsNamed) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("x.npy");
  const std::string bytes = Npy(Tensor::FromValues<float>({2, 2}, {1, 2, 3, 4}));
  const auto status = [&] { return ArraySamples::OpenNpy({{"x", path}}).status(); };
  EXPECT_THAT(std::string(status().message()), HasSubstr(absl::StrCat(path, ": cannot be opened")));
  folder.Write("x.npy", bytes + "z");
  EXPECT_EQ(status(), InvalidArgumentError(absl::StrCat(
                          path, ": byte 144: bytes follow the array; expected the end")));
  folder.Write("x.npy", bytes.substr(0, 140));
  EXPECT_EQ(status(), absl::DataLossError(
                          absl::StrCat(path, ": byte 128: the data needs 16 bytes, 12 are left")));
  folder.Write("x.npy", "no array");
  EXPECT_EQ(status(),
            InvalidArgumentError(absl::StrCat(path, ": byte 0: this is not a NumPy array (.npy)")));
  folder.Write("x.npy", bytes);
  const auto samples = ArraySamples::OpenNpy({{"x", path}});
  ASSERT_TRUE(samples.ok()) << samples.status();
  std::filesystem::resize_file(path, 140);
  EXPECT_EQ(ReadFirst(*samples, {0}).data<float>()[1], 2);
  EXPECT_EQ(samples->Read({1}, {{0, {2}}}).status(),
            absl::DataLossError(absl::StrCat(
                path, ": byte 140: cannot be read: the file was cut since it was opened")));
}

TEST(ArraySamples, ElementsInFortranOrderAreReadInTheOrderOfC) {
  const TemporaryFolder folder;
  std::string bytes = Npy(Tensor::FromValues<float>({2, 2}, {1, 2, 3, 4}));
  const std::string c_order = "'fortran_order': False";
  bytes.replace(bytes.find(c_order), c_order.size(), "'fortran_order': True ");
  folder.Write("x.npy", bytes);
  const auto samples = ArraySamples::OpenNpy({{"x", folder.Path("x.npy")}});
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_THAT(ReadFirst(*samples, {0, 1}).data<float>(), ElementsAre(1, 3, 2, 4));
}

TEST(ArraySamples, ABoolThatIsNeitherZeroNorOneIsNamed) {
  const TemporaryFolder folder;
  std::string bytes = Npy(Tensor::FromValues<bool>({3}, {true, false, true}));
  bytes.back() = 2;
  folder.Write("x.npy", bytes);
  const auto samples = ArraySamples::OpenNpy({{"x", folder.Path("x.npy")}});
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_TRUE(samples->Read({0, 1}, {{0, {}}}).ok());
  EXPECT_EQ(samples->Read({0, 2}, {{0, {}}}).status(),
            InvalidArgumentError(
                absl::StrCat(folder.Path("x.npy"), ": byte 130: a BOOL is 2, neither 0 nor 1")));
}

TEST(Batcher, NamesTheSampleThatIsNotFinite) {
  const auto samples = SamplesOf(Array<float>("x", {3, 2}, {0, 1, 2, 3, 4, std::nanf("")}));
  ASSERT_TRUE(samples.ok()) << samples.status();
  BatchOptions options;
  options.batch_size = 3;
  EXPECT_TRUE(Batcher::Create(&*samples, options)->Next().ok());
  options.check_finite = true;
  const absl::Status status = Batcher::Create(&*samples, options)->Next().status();
  EXPECT_EQ(status.message(), "arrays: sample 2 of \"x\": element 1 is nan; want finite numbers");
  EXPECT_TRUE(IsNotFinite(status));
}

TEST(DataSource, IsASetOrArrays) {
  EXPECT_TRUE(IsOfImages(*ParseDataSource("digits:50")));
  EXPECT_FALSE(IsOfImages(*ParseDataSource("npz:a.npz")));
  EXPECT_THAT(FilesOf(*ParseDataSource("npz:a.npz")), ElementsAre("a.npz"));
  EXPECT_THAT(FilesOf(*ParseDataSource("npy:x=a.npy,x.lod=b=c.npy")),
              ElementsAre("a.npy", "b=c.npy"));
  EXPECT_EQ(ParseDataSource("npy:x").status(),
            InvalidArgumentError("\"npy:x\" has \"x\"; want npy:NAME=FILE,NAME=FILE"));
  EXPECT_EQ(ParseDataSource("npy:x=a,x=b").status(),
            InvalidArgumentError("\"npy:x=a,x=b\" names \"x\" twice; want one file for it"));
  EXPECT_EQ(ParseDataSource("npz:").status(),
            InvalidArgumentError("\"npz:\" is not a data set; want mnist:FOLDER, cifar10:FOLDER, "
                                 "digits[:N] or color_digits[:N]; or, of your own, images:PATH, "
                                 "npz:FILE or npy:NAME=FILE,..."));
  EXPECT_EQ(ParseDataSource("digits:2").status().message(),
            "\"digits:2\" asks for 2 digits; want a number from 5 to 4294967295");
}

}  // namespace
}  // namespace fixpoint
