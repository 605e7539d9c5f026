#include "proto/file/program_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/file/gzip.h"
#include "proto/text/program_text.h"
#include "proto/wire/legacy_layout.pb.h"
#include "proto/wire/program.pb.h"
#include "tests/testing/gzip_bytes.h"
#include "tests/testing/reference_data.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

constexpr absl::string_view kText = R"(program version=1008005
block 0 forward=-1 {
  var x f32[-1,4] lod=0
  relu(X=x) -> (Out=y) {alpha=0.1}
}
)";

constexpr absl::string_view kProtobufText = R"(
# comments are the same
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "x" type { type: LOD_TENSOR lod_tensor { tensor { data_type: FP32 dims: -1 dims: 4 } lod_level: 0 } } }
  ops { inputs { parameter: "X" arguments: "x" } outputs { parameter: "Out" arguments: "y" } type: "relu" attrs { name: "alpha" type: FLOAT f: 0.1 } }
  forward_block_idx: -1
}
version { version: 1008005 }
)";

ProgramDesc Program() {
  absl::StatusOr<ProgramDesc> program = ParseProgramText(kText, "text");
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

std::string ErrorOf(absl::string_view bytes) {
  const absl::StatusOr<LoadedProgram> loaded = ParseProgramBytes(bytes, "p");
  return loaded.ok() ? "no error" : loaded.status().ToString();
}

TEST(ParseProgramBytes, FindsTheFormatOutByContent) {
  const std::pair<std::string, ProgramFormat> kCases[] = {
      {Program().SerializeAsString(), ProgramFormat::kBinary},
      {std::string(kText), ProgramFormat::kText},
      {absl::StrCat("\n# version { }\n", kText), ProgramFormat::kText},
      {std::string(kProtobufText), ProgramFormat::kProtobufText},
  };
  for (const auto& [bytes, format] : kCases) {
    for (const bool gzipped : {false, true}) {
      const absl::StatusOr<LoadedProgram> loaded =
          ParseProgramBytes(gzipped ? GzipBytes(bytes) : bytes, "p");
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      EXPECT_EQ(loaded->format, format);
      EXPECT_EQ(loaded->gzipped, gzipped);
      EXPECT_FALSE(loaded->converted);
      EXPECT_EQ(PrintProgram(*loaded->program), kText);
    }
  }
}

TEST(ParseProgramBytes, TextMayBeVariablesAndOpsAlone) {
  const absl::StatusOr<LoadedProgram> loaded =
      ParseProgramBytes("version(X=x)\nblocks(X=x)\n", "p");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->format, ProgramFormat::kText);
  EXPECT_EQ(loaded->program->blocks(0).ops_size(), 2);
}

// A binary program begins with a line feed and the size of block 0, which may be any character.
TEST(ParseProgramBytes, ABinaryProgramIsOneWhateverItsSize) {
  for (size_t length = 0; length < 200; ++length) {
    ProgramDesc program = Program();
    program.mutable_blocks(0)->mutable_ops(0)->set_type(std::string(length, 'f'));
    const absl::StatusOr<LoadedProgram> loaded =
        ParseProgramBytes(program.SerializeAsString(), "p");
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->format, ProgramFormat::kBinary);
  }
}

TEST(ParseProgramBytes, ConvertsTheLayoutBeforeFebruary2018) {
  LegacyVarDesc var;
  var.set_name("x");
  var.set_type(4);
  LegacyProgramDesc program;
  LegacyProgramDesc::Block* const block = program.add_blocks();
  block->set_idx(0);
  block->set_parent_idx(-1);
  block->add_vars(var.SerializeAsString());
  const absl::StatusOr<LoadedProgram> loaded = ParseProgramBytes(program.SerializeAsString(), "p");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(loaded->converted);
  EXPECT_EQ(PrintProgram(*loaded->program), "program\nblock 0 {\n  var x fetch_list\n}\n");
}

TEST(ParseProgramBytes, RefusesWhatIsNoProgram) {
  const std::string bytes = Program().SerializeAsString();
  const std::pair<std::string, const char*> kCases[] = {
      {"", "INVALID_ARGUMENT: p: is empty; expected a program"},
      {"{\"base_code\":{\"magic\":\"pir\",\"version\":1},\"program\":{}}",
       "UNIMPLEMENTED: p: is a program of PaddlePaddle 3 in JSON (PIR), which is not supported; "
       "expected a .pdmodel, which FLAGS_enable_pir_api=0 makes PaddlePaddle 3 write"},
      {" {\"a\": 1}", "INVALID_ARGUMENT: p: is JSON, not a program; expected a serialized program"},
      {"\x80\x04\x95",
       "INVALID_ARGUMENT: p: is a pickle (.pdparams, .pdopt), which holds "
       "parameters; expected the program beside it (.pdmodel)"},
      {std::string(16, '\0'),
       "INVALID_ARGUMENT: p: is a parameter file (.pdiparams, __params__ or one variable); "
       "expected the program beside it (.pdmodel or __model__)"},
      {"PK\x03\x04", "INVALID_ARGUMENT: p: is a zip archive; expected a program, plain or gzipped"},
      {GzipBytes(GzipBytes(bytes)),
       "INVALID_ARGUMENT: p: is gzipped twice; expected a program gzipped once"},
      {GzipBytes(bytes).substr(0, 20),
       "DATA_LOSS: p: the gzip stream ends early; the file is truncated"},
      {"\x7f"
       "ELF",
       "INVALID_ARGUMENT: p: is not a program; expected a binary ProgramDesc, protobuf's text of "
       "one "
       "or Fixpoint's, gzipped or not"},
      {bytes.substr(0, 30),
       "DATA_LOSS: p: block 0, variable 0, type, lod_tensor, tensor: the file ends here, 68 bytes "
       "early; it is truncated"},
      {bytes + std::string(3, '\0'),
       "INVALID_ARGUMENT: p: byte 104: 3 bytes follow the program; expected its end"},
      {std::string("\x22\x02\x08\x00", 4),
       "INVALID_ARGUMENT: p: has no block; expected a serialized program"},
      {"program version=1", "INVALID_ARGUMENT: p: has no block; expected a serialized program"},
      {std::string("\x0a\x02\x08\x00", 4),
       "INVALID_ARGUMENT: p: block 0: parent_idx is missing; it is required"},
      {"op serialized \"(\\x01\"",
       "INVALID_ARGUMENT: p: block 0, op 0: type is missing; it is required"},
      {"hello, world",
       "INVALID_ARGUMENT: p:1:6: found \",\"; expected \"(\" before the slots of an op, like "
       "(X=x); the file begins as no form of a program does"},
      {"blocks { idx: 0 }", "INVALID_ARGUMENT: p: block 0: parent_idx is missing; it is required"},
      {"blocks {\n  idx: 0\n  parent: 1 }",
       "INVALID_ARGUMENT: p:3:9: \"parent\" is no field of BlockDesc; did you mean parent_idx?"},
      {"blocks { idx: 0 parent_idx: -1 vars { name: \"x\" type { type: FP33 } } }",
       "INVALID_ARGUMENT: p:1:67: \"FP33\" is no value of type; did you mean FP32?"},
      {"blocks { idx: x }", "INVALID_ARGUMENT: p:1:15: Expected integer, got: x"},
  };
  for (const auto& [input, message] : kCases) EXPECT_EQ(ErrorOf(input), message) << input;
}

TEST(ParseProgramBytes, GzipExpandsOnlyAsFarAsAllowed) {
  ProgramFileLimits limits;
  limits.max_expanded_bytes = kText.size();
  EXPECT_TRUE(ParseProgramBytes(GzipBytes(kText), "p", limits).ok());
  limits.max_expanded_bytes = kText.size() - 1;
  EXPECT_EQ(ParseProgramBytes(GzipBytes(kText), "p", limits).status().message(),
            absl::StrCat("p: expands to too much; expected at most ", kText.size() - 1, " bytes"));
}

TEST(ParseProgramBytes, GzipExpandsInProportionToTheFile) {
  const std::string blanks = GzipBytes(std::string(MostExpandedBytes(0) + 1, ' '));
  ASSERT_LT(blanks.size(), size_t{1} << 16);
  EXPECT_EQ(ParseProgramBytes(blanks, "p").status().message(),
            "p: expands to too much; expected at most 16777216 bytes");
}

TEST(LoadProgram, ReadsFilesAndSaysWhichItCannotRead) {
  const TemporaryFolder folder;
  const absl::StatusOr<LoadedProgram> loaded = LoadProgram(folder.Write("p.json", kText));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(PrintProgram(*loaded->program), kText);
  EXPECT_EQ(LoadProgram("no/such/file").status(),
            absl::NotFoundError("no/such/file: cannot be read: No such file or directory"));
  const std::string broken = folder.Write("broken", "relu\n");
  EXPECT_THAT(std::string(LoadProgram(broken).status().message()),
              StartsWith(absl::StrCat(broken, ":1:5: found the end of the line; ")));
}

TEST(LoadProgram, RefusesMoreThanProtobufCanCount) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("huge", "");
  std::filesystem::resize_file(path, uintmax_t{1} << 31);  // takes no room on the disk
  EXPECT_EQ(LoadProgram(path).status(),
            absl::InvalidArgumentError(
                absl::StrCat(path, ": is too large; expected at most 2147483647 bytes")));
}

TEST(LoadProgram, EveryReferenceProgramIsLoaded) {
  SKIP_WITHOUT_REFERENCE_DATA();
  for (const std::string& path : ReferencePrograms()) {
    const absl::StatusOr<LoadedProgram> loaded = LoadProgram(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->format, ProgramFormat::kBinary) << path;
    EXPECT_EQ(loaded->gzipped, absl::EndsWith(path, ".gz")) << path;
    EXPECT_EQ(loaded->converted, absl::StrContains(path, "NOT_PARSEABLE")) << path;
  }
}

TEST(SaveProgram, EveryFormatLoadsAgain) {
  const TemporaryFolder folder;
  for (const ProgramFormat format :
       {ProgramFormat::kBinary, ProgramFormat::kText, ProgramFormat::kProtobufText}) {
    ASSERT_EQ(SaveProgram(Program(), format, folder.Path("p")), absl::OkStatus());
    const absl::StatusOr<LoadedProgram> loaded = LoadProgram(folder.Path("p"));
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->format, format);
    EXPECT_EQ(loaded->program->SerializeAsString(), Program().SerializeAsString());
  }
  EXPECT_THAT(folder.Files(), ElementsAre("p"));
}

TEST(SaveProgram, WritesToStandardOutput) {
  testing::internal::CaptureStdout();
  ASSERT_EQ(SaveProgram(Program(), ProgramFormat::kText, "-"), absl::OkStatus());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), kText);
}

TEST(SaveProgram, ProtobufTextRefusesWhatItWouldLose) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("p");
  const absl::Status loses = absl::FailedPreconditionError(
      absl::StrCat(path,
                   ": the program has what protobuf's text format loses (unknown fields or "
                   "NaN bits); expected the text form or the binary one"));
  ProgramDesc unknown = Program();
  unknown.mutable_blocks(0)->mutable_unknown_fields()->AddVarint(100, 1);
  EXPECT_EQ(SaveProgram(unknown, ProgramFormat::kProtobufText, path), loses);
  const absl::StatusOr<ProgramDesc> nan = ParseProgramText("f() {a=nan(0x7fc00001)}", "nan");
  ASSERT_TRUE(nan.ok()) << nan.status();
  EXPECT_EQ(SaveProgram(*nan, ProgramFormat::kProtobufText, path), loses);
  EXPECT_THAT(folder.Files(), ElementsAre());
}

TEST(SaveProgram, RefusesAProgramThatCouldNotBeLoaded) {
  const TemporaryFolder folder;
  ProgramDesc program = Program();
  program.mutable_blocks(0)->mutable_ops(0)->clear_type();
  EXPECT_EQ(SaveProgram(program, ProgramFormat::kBinary, folder.Path("p")),
            absl::InvalidArgumentError(absl::StrCat(
                folder.Path("p"), ": block 0, op 0: type is missing; it is required")));
}

TEST(SaveProgram, SaysWhereItCannotWrite) {
  EXPECT_EQ(
      SaveProgram(Program(), ProgramFormat::kText, "no/such/folder/p"),
      absl::UnavailableError("no/such/folder/p: cannot be written: No such file or directory"));
}

}  // namespace
}  // namespace fixpoint
