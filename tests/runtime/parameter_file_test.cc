#include "runtime/parameter_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>
#include <variant>

#include "proto/wire/program.pb.h"
#include "runtime/memory.h"
#include "tests/runtime/parameter_program.h"
#include "tests/testing/hex_bytes.h"
#include "tests/testing/saved_parameters.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Streams of the reference's form; FP32 but for kWeight, which is INT8.
constexpr char kBias[] = "00000000 0000000000000000 00000000 04000000 08051002 0000803f 00000040";
constexpr char kScale[] = "00000000 0000000000000000 00000000 02000000 0805 0000803f";
constexpr char kWeight[] =
    "00000000 0000000000000000 00000000 06000000 0815 1002 1003 010203fdfeff";
constexpr char kTable[] =
    "00000000 0100000000000000 0400000000000000 0500000000000000"
    "00000000 06000000 0815 1001 1003 010203";

// In the order of the declarations "w" comes before "b", which a combined file turns round.
ProgramDesc Layer() { return ProgramWith({{"fc.w", {2, -1}}, {"fc.b", {2}}, {"fc.scale", {}}}); }

std::string CombinedLayer() { return HexBytes(kBias) + HexBytes(kScale) + HexBytes(kWeight); }

Scope LayerScope() {
  Scope scope;
  scope.Set("fc.b", Tensor::FromValues<float>({2}, {1, 2}));
  scope.Set("fc.scale", Tensor::FromValues<float>({}, {1}));
  scope.Set("fc.w", Tensor::FromValues<int8_t>({2, 3}, {1, 2, 3, -3, -2, -1}));
  return scope;
}

std::vector<std::string> Names(const ProgramDesc& program) {
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : ParametersOf(program)) names.push_back(parameter.name);
  return names;
}

TEST(ParametersOf, AreThePersistableVariablesOfEveryBlockInByteWiseOrder) {
  ProgramDesc program = ProgramWith({{"fc_10", {}}, {"fc_1", {}}, {"_a", {}}, {"Z", {}}});
  VarDesc* temporary = program.mutable_blocks(0)->add_vars();
  *temporary = program.blocks(0).vars(0);
  temporary->set_name("temporary");
  temporary->set_persistable(false);
  *program.add_blocks() = ProgramWith({{"in_loop", {}}}).blocks(0);
  EXPECT_THAT(Names(program), ElementsAre("Z", "_a", "fc_1", "fc_10", "in_loop"));
}

TEST(ParametersOf, LeavesOutWhatTheReferenceDoesNotSave) {
  EXPECT_THAT(Names(ProgramWith({{"feed", {}, VarType::FEED_MINIBATCH},
                                 {"fetch", {}, VarType::FETCH_LIST},
                                 {"reader", {}, VarType::READER},
                                 {"raw", {}, VarType::RAW},
                                 {"w", {}}})),
              ElementsAre("w"));
}

TEST(ParametersOf, TakesADoubleNameAsItsFirstBlockDeclaresIt) {
  ProgramDesc program = ProgramWith({{"w", {2, -1}}});
  *program.add_blocks() = ProgramWith({{"w", {7}}}).blocks(0);
  const std::vector<ParameterInfo> parameters = ParametersOf(program);
  ASSERT_EQ(parameters.size(), 1u);
  EXPECT_THAT(parameters[0].dims, ElementsAre(2, -1));
  EXPECT_EQ(parameters[0].kind, VarType::LOD_TENSOR);
  EXPECT_EQ(parameters[0].dtype, VarType::FP32);
}

TEST(LoadParameters, ReadsACombinedFileInTheOrderOfTheNames) {
  const TemporaryFolder folder;
  const absl::StatusOr<Scope> scope =
      LoadParameters(Layer(), folder.Write("__params__", CombinedLayer()));
  ASSERT_TRUE(scope.ok()) << scope.status();
  EXPECT_EQ(scope->size(), 3u);
  EXPECT_THAT((*scope->Find("fc.b"))->data<float>(), ElementsAre(1, 2));
  EXPECT_THAT((*scope->Find("fc.scale"))->dims(), IsEmpty());
}

// Enough for huge pages together, although each is small.
TEST(LoadParameters, OfALargeFileLieBesideEachOther) {
  const TemporaryFolder folder;
  const ProgramDesc program = ProgramWith({{"a", {2, -1}}, {"b", {2}}, {"c", {-1}}});
  Scope scope;
  scope.Set("a", *Tensor::Allocate(VarType::INT8, {2, kHugePage / 2}));
  scope.Set("b", Tensor::FromValues<float>({2}, {1, 2}));
  scope.Set("c", Tensor::FromValues<float>({3}, {3, 4, 5}));
  const std::string path = folder.Path("parameters");
  ASSERT_TRUE(SaveCombinedParameters(program, scope, path).ok());
  const absl::StatusOr<Scope> loaded = LoadParameters(program, path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const Tensor& b = **loaded->Find("b");
  EXPECT_EQ(b.bytes().data(), (*loaded->Find("a"))->bytes().data() + kHugePage);
  EXPECT_EQ((*loaded->Find("c"))->bytes().data(), b.bytes().data() + kMemoryAlignment);
  EXPECT_THAT(b.data<float>(), ElementsAre(1, 2));
  EXPECT_THAT((*loaded->Find("c"))->data<float>(), ElementsAre(3, 4, 5));
}

TEST(LoadParameters, TheElementTypeIsTheFiles) {
  const TemporaryFolder folder;
  const absl::StatusOr<Scope> scope =
      LoadParameters(Layer(), folder.Write("model.pdiparams", CombinedLayer()));
  ASSERT_TRUE(scope.ok()) << scope.status();
  EXPECT_THAT((*scope->Find("fc.w"))->data<int8_t>(), ElementsAre(1, 2, 3, -3, -2, -1));
}

TEST(LoadParameters, ReadsAFolderAndLeavesItsOtherFilesAlone) {
  const TemporaryFolder folder;
  folder.Write("__model__", "a program");
  folder.Write("block/w", HexBytes(kWeight));
  folder.Write("b", HexBytes(kBias));
  const absl::StatusOr<Scope> scope =
      LoadParameters(ProgramWith({{"block/w", {2, 3}}, {"b", {2}}}), folder.Path());
  ASSERT_TRUE(scope.ok()) << scope.status();
  EXPECT_EQ(scope->size(), 2u);
  EXPECT_THAT((*scope->Find("block/w"))->dims(), ElementsAre(2, 3));
}

TEST(LoadParametersThatAreThere, LeavesOutWhatTheFolderLacks) {
  const TemporaryFolder folder;
  folder.Write("fc.b", HexBytes(kBias));
  folder.Write("readme.txt", "");
  const auto scope = LoadParametersThatAreThere(Layer(), folder.Path());
  ASSERT_TRUE(scope.ok()) << scope.status();
  EXPECT_EQ(scope->size(), 1u);
  EXPECT_THAT((*scope->Find("fc.b"))->data<float>(), ElementsAre(1, 2));
}

TEST(LoadParametersThatAreThere, AreAtLeastOne) {
  const TemporaryFolder folder;
  const absl::Status status = LoadParametersThatAreThere(Layer(), folder.Path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), folder.Path() +
                                  ": there is no file for variable \"fc.b\" (3 of 3 parameters "
                                  "missing); the folder has no other files");
}

TEST(LoadParameters, ReadsSelectedRowsFromAFolder) {
  const TemporaryFolder folder;
  folder.Write("table", HexBytes(kTable));
  const absl::StatusOr<Scope> scope =
      LoadParameters(ProgramWith({{"table", {5, 3}, VarType::SELECTED_ROWS}}), folder.Path());
  ASSERT_TRUE(scope.ok()) << scope.status();
  const auto& rows = std::get<SelectedRows>(*scope->FindOrNull("table"));
  EXPECT_THAT(rows.rows, ElementsAre(4));
  EXPECT_EQ(rows.height, 5);
}

TEST(LoadParameters, ReadsAPipe) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << CombinedLayer(); });
  const absl::StatusOr<Scope> scope = LoadParameters(Layer(), path);
  writer.join();
  ASSERT_TRUE(scope.ok()) << scope.status();
  EXPECT_THAT((*scope->Find("fc.b"))->data<float>(), ElementsAre(1, 2));
}

TEST(LoadParameters, AProgramWithoutParametersHasAnEmptyFile) {
  const TemporaryFolder folder;
  const absl::StatusOr<Scope> scope = LoadParameters(ProgramDesc(), folder.Write("__params__", ""));
  ASSERT_TRUE(scope.ok()) << scope.status();
  EXPECT_EQ(scope->size(), 0u);
}

TEST(SaveParameters, WritesACombinedFileToTheByte) {
  const TemporaryFolder folder;
  ASSERT_EQ(SaveCombinedParameters(Layer(), LayerScope(), folder.Path("__params__")),
            absl::OkStatus());
  EXPECT_EQ(folder.Read("__params__"), CombinedLayer());
}

TEST(SaveParameters, WritesOneFileForEachVariableToTheByte) {
  const TemporaryFolder folder;
  Scope scope = LayerScope();
  scope.Set("deep/er/table",
            SelectedRows{{4}, /*height=*/5, Tensor::FromValues<int8_t>({1, 3}, {1, 2, 3})});
  ProgramDesc program = Layer();
  program.mutable_blocks(0)->mutable_vars()->Add()->CopyFrom(
      ProgramWith({{"deep/er/table", {5, 3}, VarType::SELECTED_ROWS}}).blocks(0).vars(0));
  ASSERT_EQ(SaveSeparateParameters(program, scope, folder.Path("out")), absl::OkStatus());
  EXPECT_THAT(folder.Files(),
              ElementsAre("out/deep/er/table", "out/fc.b", "out/fc.scale", "out/fc.w"));
  EXPECT_EQ(folder.Read("out/deep/er/table"), HexBytes(kTable));
  EXPECT_EQ(folder.Read("out/fc.b"), HexBytes(kBias));
  EXPECT_EQ(folder.Read("out/fc.scale"), HexBytes(kScale));
  EXPECT_EQ(folder.Read("out/fc.w"), HexBytes(kWeight));
}

TEST(SaveParameters, LeavesOutWhatTheProgramDoesNotName) {
  const TemporaryFolder folder;
  const ProgramDesc program = ProgramWith({{"fc.b", {2}}});
  ASSERT_EQ(SaveCombinedParameters(program, LayerScope(), folder.Path("__params__")),
            absl::OkStatus());
  EXPECT_EQ(folder.Read("__params__"), HexBytes(kBias));
}

TEST(SaveParameters, BesideTheProgramInItsOwnFolder) {
  const TemporaryFolder folder;
  folder.Write("__model__", "a program");
  folder.Write("fc.b", "old");
  ASSERT_EQ(SaveSeparateParameters(Layer(), LayerScope(), folder.Path()), absl::OkStatus());
  EXPECT_THAT(folder.Files(), ElementsAre("__model__", "fc.b", "fc.scale", "fc.w"));
  EXPECT_EQ(folder.Read("fc.b"), HexBytes(kBias));
}

TEST(SaveParameters, BothFormsConvertIntoEachOther) {
  const TemporaryFolder folder;
  const ProgramDesc program = Layer();
  const absl::StatusOr<Scope> combined =
      LoadParameters(program, folder.Write("first", CombinedLayer()));
  ASSERT_TRUE(combined.ok()) << combined.status();
  ASSERT_EQ(SaveSeparateParameters(program, *combined, folder.Path("separate")), absl::OkStatus());
  const absl::StatusOr<Scope> separate = LoadParameters(program, folder.Path("separate"));
  ASSERT_TRUE(separate.ok()) << separate.status();
  ASSERT_EQ(SaveCombinedParameters(program, *separate, folder.Path("second")), absl::OkStatus());
  EXPECT_EQ(folder.Read("second"), CombinedLayer());
}

}  // namespace
}  // namespace fixpoint
