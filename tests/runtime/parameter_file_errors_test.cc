// The messages about parameters that cannot be read or written; "DIR" stands for the test's folder.
// tensor_stream_test.cc has the errors inside a stream.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/parameter_file.h"
#include "tests/runtime/parameter_program.h"
#include "tests/testing/hex_bytes.h"
#include "tests/testing/saved_parameters.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// FP32 [2], 32 bytes.
constexpr char kPair[] = "00000000 0000000000000000 00000000 04000000 08051002 00000000 00000000";

const VarType::Type kRows = VarType::SELECTED_ROWS;

std::string Pairs(int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += HexBytes(kPair);
  return bytes;
}

// The status with the test's folder taken out of it.
absl::Status Portable(const absl::Status& status, const TemporaryFolder& folder) {
  return absl::Status(status.code(),
                      absl::StrReplaceAll(status.message(), {{folder.Path(), "DIR"}}));
}

TEST(LoadParameters, SaysWhatIsWrongWithACombinedFile) {
  struct Case {
    std::vector<DeclaredParameter> parameters;
    std::string bytes;
    absl::Status status;
  };
  const Case cases[] = {
      {{{"a", {2}}, {"b", {2}}, {"c", {2}}},
       Pairs(2),
       absl::DataLossError(
           "DIR/p: variable \"c\": byte 64: the file ends after 2 tensors; it "
           "should hold 3 parameters, \"a\" to \"c\"; was it written for another program, "
           "or for this one before it was quantized?")},
      {{{"a", {2}}, {"b", {1}}, {"c", {2}}},
       Pairs(2),
       absl::InvalidArgumentError("DIR/p: holds 2 tensors; it should hold 3 parameters, \"a\" to "
                                  "\"c\"; was it written for "
                                  "another program, or for this one before it was quantized? "
                                  "(variable \"b\": byte 32: the "
                                  "dims are [2]; the program declares [1])")},
      {{{"a", {1}}},
       Pairs(2),
       absl::InvalidArgumentError(
           "DIR/p: holds 2 tensors; it should hold \"a\" alone; was it written for another "
           "program? "
           "(variable \"a\": byte 0: the dims are [2]; the program declares [1])")},
      {{{"a", {2}}, {"b", {1}}, {"c", {2}}},
       Pairs(2).substr(0, 60),
       absl::InvalidArgumentError("DIR/p: variable \"b\": byte 32: the dims are [2]; the program "
                                  "declares [1]")},
      {{{"a", {2}}},
       "",
       absl::DataLossError("DIR/p: variable \"a\": byte 0: the file ends after 0 tensors; it "
                           "should hold \"a\" alone")},
      {{{"a", {2}}, {"b", {2}}},
       Pairs(2).substr(0, 60),
       absl::DataLossError("DIR/p: variable \"b\": byte 56: the data needs 8 bytes, 4 are left")},
      {{{"a", {2}}, {"b", {2}}},
       Pairs(3),
       absl::InvalidArgumentError(
           "DIR/p: byte 64: another tensor follows, FP32 [2]; it should hold 2 parameters, \"a\" "
           "to \"b\"; was the file written for another program?")},
      {{{"a", {2}}},
       Pairs(1) + "xy",
       absl::InvalidArgumentError(
           "DIR/p: byte 32: bytes follow that are no tensor; it should hold \"a\" alone; was the "
           "file written for another program?")},
      {{},
       Pairs(1),
       absl::InvalidArgumentError(
           "DIR/p: byte 0: another tensor follows, FP32 [2]; the program has no parameters, so it "
           "should be empty; was the file written for another program?")},
      {{{"a", {2}}, {"b", {3}}},
       Pairs(2),
       absl::InvalidArgumentError("DIR/p: variable \"b\": byte 32: the dims are [2]; the program "
                                  "declares [3]")},
      {{{"a", {2, -1}}},
       Pairs(1),
       absl::InvalidArgumentError("DIR/p: variable \"a\": byte 0: the dims are [2]; the program "
                                  "declares [2, -1]")},
      // The dims do not agree, so that nothing is said of the data that is missing.
      {{{"a", {2}}},
       HexBytes("00000000 0000000000000000 00000000 08000000 0805 10ffffffff0f"),
       absl::InvalidArgumentError("DIR/p: variable \"a\": byte 0: the dims are [4294967295]; the "
                                  "program declares [2]")},
      {{{"a\n\"", {3}}},
       Pairs(1),
       absl::InvalidArgumentError("DIR/p: variable \"a\\n\\\"\": byte 0: the dims are [2]; the "
                                  "program declares [3]")},
      {{{"a", {2}, kRows}},
       Pairs(1),
       absl::UnimplementedError("DIR/p: variable \"a\": a combined parameter file cannot hold "
                                "SELECTED_ROWS; use a folder with one file per variable")},
      {{{"a", {2}, VarType::LOD_TENSOR_ARRAY}},
       Pairs(1),
       absl::UnimplementedError("DIR/p: variable \"a\": a persistable LOD_TENSOR_ARRAY has no "
                                "parameter file; LOD_TENSOR and SELECTED_ROWS have")},
      {{{"a", {2}}},
       HexBytes("80025d71"),
       absl::InvalidArgumentError(
           "DIR/p: variable \"a\": byte 0: this is not a parameter file but a Python pickle "
           "(.pdparams, .pdopt); load it in the reference and save it there as a parameter file "
           "(save_inference_model, save_vars)")},
  };
  const TemporaryFolder folder;
  for (const Case& c : cases) {
    const std::string path = folder.Write("p", c.bytes);
    EXPECT_EQ(Portable(LoadParameters(ProgramWith(c.parameters), path).status(), folder), c.status);
  }
}

TEST(LoadParameters, SaysWhatIsWrongWithAFolder) {
  struct Case {
    std::vector<DeclaredParameter> parameters;
    absl::Status status;
  };
  const Case cases[] = {
      {{{"a", {2}}, {"missing", {2}}, {"missing too", {2}}},
       absl::NotFoundError("DIR: there is no file for variable \"missing\" (2 of 3 parameters "
                           "missing); of other files the folder has \"__model__\", \"empty\", "
                           "\"long\" and 2 more")},
      {{{"a", {3}}},
       absl::InvalidArgumentError("DIR/a: variable \"a\": byte 0: the dims are [2]; the program "
                                  "declares [3]")},
      {{{"empty", {2}}},
       absl::DataLossError("DIR/empty: variable \"empty\": byte 0: the file ends after 0 tensors; "
                           "it should hold \"empty\" alone")},
      {{{"a", {2}}, {"long", {2}}},
       absl::InvalidArgumentError(
           "DIR/long: byte 32: another tensor follows, FP32 [2]; it should hold \"long\" alone; "
           "was the file written for another program?")},
      {{{"rows", {6, 1}, kRows}},
       absl::InvalidArgumentError("DIR/rows: variable \"rows\": byte 0: the dims are [5, 1]; the "
                                  "program declares [6, 1]")},
      {{{"sub", {2}}}, absl::InvalidArgumentError("DIR/sub: is a folder, not a file")},
      {{{"../a", {2}}},
       absl::FailedPreconditionError("DIR: variable \"../a\": the name cannot be that of a file "
                                     "in the folder; use a combined parameter file")},
  };
  const TemporaryFolder folder;
  folder.Write("__model__", "a program");
  folder.Write("a", Pairs(1));
  folder.Write("empty", "");
  folder.Write("long", Pairs(2));
  folder.Write("rows", HexBytes("00000000 0100000000000000 0400000000000000 0500000000000000"
                                "00000000 06000000 0815 1001 1001 07"));
  folder.Write("sub/b", Pairs(1));
  for (const Case& c : cases) {
    EXPECT_EQ(Portable(LoadParameters(ProgramWith(c.parameters), folder.Path()).status(), folder),
              c.status);
  }
}

TEST(LoadParameters, NamesTheCombinedFileWhereItsFolderIsNamed) {
  const std::string missing =
      "DIR: there is no file for variable \"a\" (1 of 1 parameter missing); a combined file is "
      "named itself, not its folder: ";
  const TemporaryFolder folder;
  const auto load = [&] {
    return Portable(LoadParameters(ProgramWith({{"a", {2}}}), folder.Path()).status(), folder);
  };
  folder.Write("net.pdmodel", "a program");
  folder.Write("net.pdiparams", Pairs(1));
  EXPECT_EQ(load(), absl::NotFoundError(missing + "DIR/net.pdiparams"));
  folder.Write("__params__", Pairs(1));
  EXPECT_EQ(load(), absl::NotFoundError(missing + "DIR/__params__"));
}

TEST(LoadParameters, SaysThatThereIsNoFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(Portable(LoadParameters(ProgramDesc(), folder.Path("p")).status(), folder),
            absl::NotFoundError("DIR/p: cannot be opened for reading: No such file or directory"));
}

Tensor Pair() { return Tensor::FromValues<float>({2}, {0, 0}); }

TEST(SaveParameters, SaysWhatTheScopeLacksBeforeAFileIsTouched) {
  struct Case {
    DeclaredParameter parameter;
    std::string message;
  };
  const Case cases[] = {
      {{"missing", {2}}, "variable \"missing\": it is not in the scope"},
      {{"a", {3}}, "variable \"a\": the dims are [2]; the program declares [3]"},
      {{"rows", {5, 1}},
       "variable \"rows\": the scope holds SELECTED_ROWS; the program declares LOD_TENSOR"},
      {{"a", {2}, kRows},
       "variable \"a\": the scope holds LOD_TENSOR; the program declares SELECTED_ROWS"},
      {{"rows", {6, 2}, kRows},
       "variable \"rows\": the dims are [5, 2]; the program declares [6, 2]"},
      {{"torn rows", {5, 2}, kRows},
       "variable \"torn rows\": the dims of the rows are [2]; there are 1 row ids"},
  };
  Scope scope;
  scope.Set("a", Pair());
  scope.Set("rows", SelectedRows{{4}, /*height=*/5, Tensor::FromValues<float>({1, 2}, {0, 0})});
  scope.Set("torn rows", SelectedRows{{4}, /*height=*/5, Pair()});
  const TemporaryFolder folder;
  for (const Case& c : cases) {
    EXPECT_EQ(SaveSeparateParameters(ProgramWith({c.parameter}), scope, folder.Path("out")),
              absl::FailedPreconditionError(c.message));
  }
  EXPECT_EQ(SaveCombinedParameters(ProgramWith({{"missing", {2}}}), scope, folder.Path("out")),
            absl::FailedPreconditionError("variable \"missing\": it is not in the scope"));
  EXPECT_THAT(folder.Files(), IsEmpty());
}

TEST(SaveParameters, RefusesSelectedRowsInACombinedFile) {
  const TemporaryFolder folder;
  Scope scope;
  scope.Set("rows", SelectedRows{{4}, /*height=*/5, Tensor::FromValues<float>({1, 2}, {0, 0})});
  EXPECT_EQ(SaveCombinedParameters(ProgramWith({{"rows", {5, 2}, kRows}}), scope, folder.Path("p")),
            absl::UnimplementedError("variable \"rows\": a combined parameter file cannot hold "
                                     "SELECTED_ROWS; use a folder with one file per variable"));
  EXPECT_THAT(folder.Files(), IsEmpty());
}

TEST(SaveParameters, RefusesNamesThatAreNoFilesOfTheFolder) {
  const TemporaryFolder folder;
  const std::string with_nul("a\0b", 3);
  for (const std::string& name : {std::string(), std::string("../x"), std::string("a/../../x"),
                                  std::string("/etc/x"), std::string("a//b"), std::string("a/"),
                                  std::string("."), std::string("__model__"), with_nul}) {
    Scope scope;
    scope.Set(name, Pair());
    const ProgramDesc program = ProgramWith({{name, {2}}});
    const absl::Status status = SaveSeparateParameters(program, scope, folder.Path("out"));
    EXPECT_EQ(status,
              absl::FailedPreconditionError(absl::StrCat(
                  "variable \"", name == with_nul ? "a\\000b" : name,
                  "\": the name cannot be that of a file in the folder; use a combined parameter "
                  "file")));
    EXPECT_EQ(SaveCombinedParameters(program, scope, folder.Path("combined")), absl::OkStatus());
  }
  EXPECT_THAT(folder.Files(), ElementsAre("combined"));
}

TEST(SaveParameters, RefusesANameThatIsTheFolderOfAnother) {
  const TemporaryFolder folder;
  // "a!" comes between the two in the order of the names.
  const std::vector<DeclaredParameter> parameters = {{"a", {2}}, {"a!", {2}}, {"a/b/c", {2}}};
  Scope scope;
  for (const DeclaredParameter& parameter : parameters) scope.Set(parameter.name, Pair());
  EXPECT_EQ(SaveSeparateParameters(ProgramWith(parameters), scope, folder.Path("out")),
            absl::FailedPreconditionError(
                "variable \"a\": the name cannot be both that of a file and of the folder of "
                "\"a/b/c\"; use a combined parameter file"));
  EXPECT_THAT(folder.Files(), IsEmpty());
}

TEST(SaveParameters, SaysWhyAFileCannotBeWritten) {
  const TemporaryFolder folder;
  Scope scope;
  scope.Set("a", Pair());
  const ProgramDesc program = ProgramWith({{"a", {2}}});
  EXPECT_EQ(Portable(SaveCombinedParameters(program, scope, folder.Path("missing/p")), folder),
            absl::UnavailableError("DIR/missing/p: cannot be written: No such file or directory"));
  EXPECT_EQ(Portable(SaveSeparateParameters(program, scope, folder.Path("missing/p")), folder),
            absl::UnavailableError("DIR/missing/p: cannot be written: No such file or directory"));
}

}  // namespace
}  // namespace fixpoint
