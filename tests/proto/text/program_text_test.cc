// The text form: what each part of a program looks like, that nothing is lost, and what a mistake
// is told.

#include "proto/text/program_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/wire/deterministic_bytes.h"
#include "proto/wire/program.pb.h"
#include "tests/testing/random_message.h"
#include "tests/testing/reference_data.h"
#include "tests/testing/text_format.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Expects `text` to say `program` and to be what the printer writes for it.
void ExpectText(const ProgramDesc& program, const std::string& text) {
  EXPECT_EQ(PrintProgram(program), text);
  const absl::StatusOr<ProgramDesc> parsed = ParseProgramText(text, "program.txt");
  ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
  EXPECT_EQ(parsed->DebugString(), program.DebugString());
  EXPECT_EQ(DeterministicBytes(*parsed), DeterministicBytes(program));
}

ProgramDesc ProgramOf(const OpDesc& op) {
  ProgramDesc program = FromTextFormat<ProgramDesc>("blocks { idx: 0 parent_idx: -1 }");
  *program.mutable_blocks(0)->add_ops() = op;
  return program;
}

void ExpectOp(const OpDesc& op, const std::string& text) {
  EXPECT_EQ(PrintOp(op), text);
  ExpectText(ProgramOf(op), absl::StrCat("program\nblock 0 {\n  ", text, "\n}\n"));
}

void ExpectOp(const std::string& op, const std::string& text) {
  ExpectOp(FromTextFormat<OpDesc>(op), text);
}

void ExpectVar(const std::string& var, const std::string& text) {
  ProgramDesc program = FromTextFormat<ProgramDesc>("blocks { idx: 0 parent_idx: -1 }");
  *program.mutable_blocks(0)->add_vars() = FromTextFormat<VarDesc>(var);
  EXPECT_EQ(PrintVar(program.blocks(0).vars(0)), text);
  ExpectText(program, absl::StrCat("program\nblock 0 {\n  ", text, "\n}\n"));
}

TEST(ProgramText, AWholeProgram) {
  ExpectText(FromTextFormat<ProgramDesc>(R"pb(
               blocks {
                 idx: 0
                 parent_idx: -1
                 vars {
                   name: "x"
                   type {
                     type: LOD_TENSOR
                     lod_tensor {
                       tensor { data_type: FP32 dims: -1 dims: 3 dims: 8 dims: 8 }
                       lod_level: 0
                     }
                   }
                   persistable: false
                 }
                 vars {
                   name: "w"
                   type {
                     type: LOD_TENSOR
                     lod_tensor { tensor { data_type: FP32 dims: 8 dims: 3 dims: 3 dims: 3 } }
                   }
                   persistable: true
                 }
                 ops {
                   inputs { parameter: "Input" arguments: "x" }
                   inputs { parameter: "Filter" arguments: "w" }
                   inputs { parameter: "Bias" }
                   outputs { parameter: "Output" arguments: "y" }
                   type: "conv2d"
                   attrs { name: "groups" type: INT i: 1 }
                   attrs { name: "strides" type: INTS ints: 1 ints: 1 }
                   attrs { name: "data_format" type: STRING s: "NCHW" }
                 }
                 forward_block_idx: -1
               }
               blocks { idx: 1 parent_idx: 0 }
               version { version: 2006002 }
               op_version_map {
                 pair {
                   op_name: "conv2d"
                   op_version { version: 1 }
                 }
                 pair {
                   op_name: "fill_constant"
                   op_version { version: 2 }
                 }
               })pb"),
             R"(program version=2006002 op_versions={conv2d=1, fill_constant=2}
block 0 forward=-1 {
  var x f32[-1,3,8,8] lod=0 persistable=false
  var w f32[8,3,3,3] persistable
  conv2d(Input=x, Filter=w, Bias=[]) -> (Output=y) {groups=1, strides=[1, 1], data_format="NCHW"}
}
block 1 parent=0 {
}
)");
}

TEST(ProgramText, AProgramWithoutAnything) { ExpectText(ProgramDesc(), "program\n"); }

TEST(ProgramText, TheHeaderSaysWhatEachReleaseWrote) {
  ExpectText(FromTextFormat<ProgramDesc>(R"pb(retired_version: "\010\000")pb"),
             "program retired_version=\"\\x08\\x00\"\n");
  ExpectText(FromTextFormat<ProgramDesc>(R"pb(retired_op_compatible_map: ""
                                              version { version: 1008005 })pb"),
             "program retired_op_compatible_map=\"\" version=1008005\n");
  ExpectText(FromTextFormat<ProgramDesc>(R"pb(version {}
                                              op_version_map {})pb"),
             "program version=serialized \"\" op_versions={}\n");
  ExpectText(FromTextFormat<ProgramDesc>(R"pb(op_version_map { pair { op_name: "relu" } }
                                              edit_log { fingerprint: 1 }
                                              composites: "\n\002\010\000")pb"),
             "program op_versions=serialized \"\\n\\x06\\n\\x04relu\" "
             "edit_log=serialized \"\\t\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\" "
             "composites=serialized \"\\n\\x02\\x08\\x00\"\n");
}

TEST(ProgramText, Slots) {
  ExpectOp("type: 'feed'", "feed()");
  ExpectOp("type: 'sum' inputs { parameter: 'X' arguments: 'a' arguments: 'b' }", "sum(X=[a, b])");
  ExpectOp("type: 'fill' outputs { parameter: 'Out' arguments: 'x' }", "fill() -> (Out=x)");
  ExpectOp("type: 'f' inputs { parameter: 'X' } inputs { parameter: 'X' arguments: '' }",
           "f(X=[], X=\"\")");
  ExpectOp("type: 'f' inputs { arguments: 'x' } outputs { parameter: 'Y' }",
           "f(serialized \"\\x12\\x01x\") -> (Y=[])");
}

TEST(ProgramText, NamesStandBareWhereTheyCan) {
  ExpectOp("type: 'f' inputs { parameter: 'X' arguments: '_a.b-0/c:1@GRAD' arguments: '@E' }",
           "f(X=[_a.b-0/c:1@GRAD, @E])");
  ExpectOp("type: 'f' inputs { parameter: 'a b' arguments: '0' arguments: 'x,y' }",
           "f(\"a b\"=[\"0\", \"x,y\"])");
  ExpectOp("type: 'var' inputs { parameter: 'var' arguments: 'var' }", "\"var\"(var=var)");
  ExpectOp("type: 'a(b'", "\"a(b\"()");
  ExpectOp("type: 'f' inputs { parameter: 'serialized' arguments: 'x' }", "f(serialized=x)");
}

TEST(ProgramText, StringsEscapeWhatIsNotPrintableAscii) {
  ExpectOp(R"pb(type: "f"
                attrs { name: "a" type: STRING s: "\"\\\n\t\r\000\377é" })pb",
           R"(f() {a="\"\\\n\t\x0d\x00\xff\xc3\xa9"})");
}

TEST(ProgramText, EachAttributeTypeShowsInItsValue) {
  const std::pair<const char*, const char*> kCases[] = {
      {"type: INT i: -1", "-1"},
      {"type: LONG l: 1", "1L"},
      {"type: FLOAT f: 1", "1.0"},
      {"type: FLOAT64 float64: 1", "1.0d"},
      {"type: BOOLEAN b: false", "false"},
      {"type: STRING s: '1'", "\"1\""},
      {"type: BLOCK block_idx: 1", "block(1)"},
      {"type: VAR var_name: 'x'", "var(x)"},
      {"type: INTS ints: 1 ints: 2", "[1, 2]"},
      {"type: LONGS longs: 1 longs: 2", "[1L, 2L]"},
      {"type: FLOATS floats: 1 floats: 0.5", "[1.0, 0.5]"},
      {"type: FLOAT64S float64s: 1 float64s: 0.5", "[1.0d, 0.5d]"},
      {"type: BOOLEANS bools: true bools: false", "[true, false]"},
      {"type: STRINGS strings: 'a' strings: ''", "[\"a\", \"\"]"},
      {"type: BLOCKS blocks_idx: 1 blocks_idx: 2", "[block(1), block(2)]"},
      {"type: VARS vars_name: 'x' vars_name: '1'", "[var(x), var(\"1\")]"},
      {"type: INTS", "ints[]"},
      {"type: LONGS", "longs[]"},
      {"type: FLOATS", "floats[]"},
      {"type: FLOAT64S", "float64s[]"},
      {"type: BOOLEANS", "booleans[]"},
      {"type: STRINGS", "strings[]"},
      {"type: BLOCKS", "blocks[]"},
      {"type: VARS", "vars[]"},
      {"type: SCALARS", "scalars[]"},
      {"type: SCALAR scalar { type: BOOLEAN b: true }", "scalar(true)"},
      {"type: SCALAR scalar { type: LONG i: 1 }", "scalar(1L)"},
      {"type: SCALAR scalar { type: FLOAT64 r: 1 }", "scalar(1.0d)"},
      {"type: SCALAR scalar { type: COMPLEX128 c { r: 1 i: -1 } }", "scalar(1.0d, -1.0d)"},
      {"type: SCALARS scalars { type: LONG i: 1 } scalars { type: FLOAT64 r: 1 }",
       "[scalar(1L), scalar(1.0d)]"},
  };
  for (const auto& [fields, value] : kCases) {
    ExpectOp(absl::StrCat("type: 'f' attrs { name: 'a' ", fields, " }"),
             absl::StrCat("f() {a=", value, "}"));
  }
}

TEST(ProgramText, AttributesWhoseFieldsDoNotFitTheirTypeAreSerialized) {
  const std::pair<const char*, const char*> kCases[] = {
      {"name: 'a' type: INT", R"("\n\x01a\x10\x00")"},
      {"name: 'a' type: INT l: 1", R"("\n\x01a\x10\x00h\x01")"},
      {"name: 'a' type: INT i: 1 ints: 2", R"("\n\x01a\x10\x00\x18\x010\x02")"},
      {"name: 'a' type: INTS i: 1", R"("\n\x01a\x10\x03\x18\x01")"},
      {"type: INT i: 1", R"("\x10\x00\x18\x01")"},
      {"name: 'a' i: 1", R"("\n\x01a\x18\x01")"},
      {"name: 'a' type: SCALAR scalar { i: 1 }", R"("\n\x01a\x10\x10\xa2\x01\x02\x18\x01")"},
      {"name: 'a' type: SCALAR scalar { type: LONG b: true }",
       R"("\n\x01a\x10\x10\xa2\x01\x04\x08\x02\x10\x01")"},
  };
  for (const auto& [fields, bytes] : kCases) {
    ExpectOp(absl::StrCat("type: 'f' attrs { ", fields, " }"),
             absl::StrCat("f() {serialized ", bytes, "}"));
  }
}

TEST(ProgramText, FloatsReadBackToTheBit) {
  const std::pair<uint32_t, const char*> kCases[] = {
      {0x00000000, "0.0"},
      {0x80000000, "-0.0"},
      {0x3f666666, "0.9"},
      {0x3727c5ac, "1e-05"},
      {0x00000001, "1e-45"},
      {0x7f7fffff, "3.4028235e+38"},
      {0x7f800000, "inf"},
      {0xff800000, "-inf"},
      {0x7fc00000, "nan"},
      {0x7fc00001, "nan(0x7fc00001)"},
      {0x7f800001, "nan(0x7f800001)"},
      {0xffc00000, "nan(0xffc00000)"},
      {0x4b800000, "16777216.0"},
      {0x60ad78ec, "1e+20"},
  };
  for (const auto& [bits, text] : kCases) {
    OpDesc op = FromTextFormat<OpDesc>("type: 'f' attrs { name: 'a' type: FLOATS }");
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    op.mutable_attrs(0)->add_floats(value);
    ExpectOp(op, absl::StrCat("f() {a=[", text, "]}"));
  }
}

TEST(ProgramText, DoublesReadBackToTheBit) {
  const std::pair<uint64_t, const char*> kCases[] = {
      {0x8000000000000000, "-0.0d"},   {0x3fb999999999999a, "0.1d"},
      {0x0000000000000001, "5e-324d"}, {0x7fefffffffffffff, "1.7976931348623157e+308d"},
      {0x7ff0000000000000, "infd"},    {0xfff0000000000000, "-infd"},
      {0x7ff8000000000000, "nand"},    {0xfff8000000000001, "nan(0xfff8000000000001)d"},
  };
  for (const auto& [bits, text] : kCases) {
    OpDesc op = FromTextFormat<OpDesc>("type: 'f' attrs { name: 'a' type: FLOAT64 }");
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    op.mutable_attrs(0)->set_float64(value);
    ExpectOp(op, absl::StrCat("f() {a=", text, "}"));
  }
}

TEST(ProgramText, TypesOfVariables) {
  const std::pair<const char*, const char*> kCases[] = {
      {"type: LOD_TENSOR lod_tensor { tensor { data_type: INT64 dims: 1 } lod_level: 1 }",
       "i64[1] lod=1"},
      {"type: LOD_TENSOR lod_tensor { tensor { data_type: BOOL } }", "bool[]"},
      {"type: LOD_TENSOR", "lod_tensor"},
      {"type: FETCH_LIST", "fetch_list"},
      {"type: SELECTED_ROWS selected_rows { data_type: FP32 dims: 9 dims: 4 }",
       "selected_rows f32[9,4]"},
      {"type: SELECTED_ROWS selected_rows { data_type: FP32 } lod_tensor { tensor { data_type: "
       "FP32 dims: 1 } lod_level: 0 }",
       "selected_rows f32[] lod_tensor=f32[1] lod=0"},
      {"type: LOD_TENSOR_ARRAY tensor_array { tensor { data_type: UINT8 } lod_level: 0 }",
       "tensor_array u8[] lod=0"},
      {"type: FEED_MINIBATCH lod_tensor { tensor { data_type: FP16 } }",
       "feed_minibatch lod_tensor=f16[]"},
      {"type: READER reader { lod_tensor { tensor { data_type: FP32 dims: 1 } lod_level: 0 } "
       "lod_tensor { tensor { data_type: INT64 } } }",
       "reader(f32[1] lod=0, i64[])"},
      {"type: READER reader {}", "reader()"},
      {"type: READER", "reader"},
      {"type: TUPLE tuple { element_type: INT8 element_type: LOD_TENSOR }",
       "tuple(i8, lod_tensor)"},
      {"type: RAW tuple {} reader {}", "raw reader=() tuple=()"},
      {"type: SPARSE_CSR sparse_csr { data_type: BF16 dims: 2 dims: 2 }", "sparse_csr bf16[2,2]"},
      {"type: STRING string { data_type: LOD_TENSOR }", "string lod_tensor[]"},
  };
  for (const auto& [type, text] : kCases) {
    ExpectVar(absl::StrCat("name: 'x' type { ", type, " }"), absl::StrCat("var x ", text));
  }
}

TEST(ProgramText, PropertiesOfVariablesShowWhenTheyAreSet) {
  const std::string x = "name: 'x' type { type: RAW } ";
  ExpectVar(x + "persistable: true need_check_feed: true is_parameter: true stop_gradient: true",
            "var x raw persistable need_check_feed is_parameter stop_gradient");
  ExpectVar(x + "persistable: false stop_gradient: false",
            "var x raw persistable=false stop_gradient=false");
  ExpectVar(x + "attrs { name: 'a' type: INT i: 1 } attrs { name: 'b' type: INTS }",
            "var x raw {a=1, b=ints[]}");
  ExpectVar(x + "attrs { name: 'a' type: STRING s: 'b' } attrs { name: 'a' type: LONG i: 1 }",
            "var x raw {a=\"b\", serialized \"\\n\\x01a\\x10\\t\\x18\\x01\"}");
}

TEST(ProgramText, VariablesThatHaveNoShortFormAreSerialized) {
  ExpectVar("name: 'x'", "var serialized \"\\n\\x01x\"");
  ExpectVar("type { type: RAW }", "var serialized \"\\x12\\x02\\x08\\x11\"");
  ExpectVar("name: 'x' type { type: RAW retired_channel: '' }",
            "var serialized \"\\n\\x01x\\x12\\x04\\x08\\x112\\x00\"");
  ExpectVar("name: 'x' type { type: LOD_TENSOR lod_tensor { tensor { dims: 1 } } }",
            "var serialized \"\\n\\x01x\\x12\\x08\\x08\\x07\\x1a\\x04\\n\\x02\\x10\\x01\"");
  ExpectVar("name: 'serialized' type { type: RAW }", "var serialized raw");
}

TEST(ProgramText, UnknownFieldsAreKept) {
  ProgramDesc program = ProgramOf(FromTextFormat<OpDesc>("type: 'relu' is_target: false"));
  program.mutable_unknown_fields()->AddVarint(100, 1);
  program.mutable_blocks(0)->mutable_unknown_fields()->AddVarint(100, 2);
  program.mutable_blocks(0)->mutable_ops(0)->mutable_unknown_fields()->AddVarint(100, 3);
  ExpectText(program, R"(program unknown="\xa0\x06\x01"
block 0 unknown="\xa0\x06\x02" {
  relu() is_target=false unknown="\xa0\x06\x03"
}
)");
}

TEST(ProgramText, BlocksAndOpsWithoutTheirRequiredFieldsAreSerialized) {
  ExpectText(FromTextFormat<ProgramDesc>("blocks { idx: 1 ops { type: 'relu' } }"),
             "program\nblock serialized \"\\x08\\x01\\\"\\x06\\x1a\\x04relu\"\n");
  ExpectText(FromTextFormat<ProgramDesc>("blocks { idx: 0 parent_idx: -1 ops { is_target: true }}"),
             "program\nblock 0 {\n  op serialized \"(\\x01\"\n}\n");
}

TEST(ProgramText, DebugAttributesCanBeLeftOut) {
  const OpDesc op = FromTextFormat<OpDesc>(R"pb(
    type: "relu"
    attrs { name: "op_callstack" type: STRINGS strings: "File" }
    attrs { name: "axis" type: INT i: 1 }
    attrs { name: "op_namescope" type: STRING s: "/" }
  )pb");
  ProgramTextOptions options;
  options.debug_attributes = false;
  EXPECT_EQ(PrintOp(op, options), "relu() {axis=1}");
  EXPECT_EQ(PrintProgram(ProgramOf(op), options), "program\nblock 0 {\n  relu() {axis=1}\n}\n");
}

// What a person writes, and what it means in full.
TEST(ProgramText, LinesAloneAreTheOneBlockOfAProgram) {
  const absl::StatusOr<ProgramDesc> program = ParseProgramText(R"(
# A comment line.
var x f32[1,2]   # a comment after a line

relu(X=x) -> (Out=[y])
concat(X=[
    x,  # a line may go on inside brackets
    y
  ]) -> (Out=z) {
    axis=1
}
)",
                                                               "p.txt");
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(PrintProgram(*program), R"(program
block 0 {
  var x f32[1,2]
  relu(X=x) -> (Out=y)
  concat(X=[x, y]) -> (Out=z) {axis=1}
}
)");
}

TEST(ProgramText, AnEmptyTextIsAnEmptyProgram) {
  for (const char* text : {"", "\n", " # nothing", "\r\n", "program"}) {
    const absl::StatusOr<ProgramDesc> program = ParseProgramText(text, "p.txt");
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ(program->ByteSizeLong(), 0u);
  }
}

TEST(ProgramText, VariablesMayStandBetweenOps) {
  const absl::StatusOr<ProgramDesc> program =
      ParseProgramText("block 0 {\nf()\r\nvar x raw persistable=true\ng() ->()\n}", "p.txt");
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(PrintProgram(*program),
            "program\nblock 0 {\n  var x raw persistable\n  f()\n  g()\n}\n");
}

TEST(ProgramText, TheExamplesOfItsDocumentAreRight) {
  std::ifstream file("docs/program_text.md");
  std::stringstream document;
  document << file.rdbuf();
  int examples = 0;
  for (const absl::string_view part : absl::StrSplit(document.str(), "\n```\n")) {
    if (!absl::StartsWith(part, "program") && !absl::StartsWith(part, "var")) continue;
    if (absl::StartsWith(part, "program.txt:")) continue;  // an error
    const absl::StatusOr<ProgramDesc> program = ParseProgramText(part, "example");
    ASSERT_TRUE(program.ok()) << program.status();
    if (absl::StartsWith(part, "program")) {
      EXPECT_EQ(PrintProgram(*program), absl::StrCat(part, "\n"));
    }
    ++examples;
  }
  EXPECT_EQ(examples, 2);
}

TEST(ProgramText, EveryReferenceProgramComesBackByteForByte) {
  SKIP_WITHOUT_REFERENCE_DATA();
  for (const std::string& path : ReferencePrograms()) {
    if (absl::StrContains(path, "NOT_PARSEABLE")) continue;
    SCOPED_TRACE(path);
    ProgramDesc program;
    ASSERT_TRUE(program.ParseFromString(ReadFileOrDie(path)));
    const std::string text = PrintProgram(program);
    EXPECT_THAT(text, Not(HasSubstr("serialized")));
    const absl::StatusOr<ProgramDesc> parsed = ParseProgramText(text, "program.txt");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_TRUE(parsed->SerializeAsString() == program.SerializeAsString());
    EXPECT_TRUE(PrintProgram(*parsed) == text);
  }
}

TEST(ProgramText, EveryMessageComesBackByteForByte) {
  google::protobuf::LogSilencer names_need_not_be_utf8;
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    ProgramDesc program;
    FillRandomly(&random, &program);
    const std::string text = PrintProgram(program);
    const absl::StatusOr<ProgramDesc> parsed = ParseProgramText(text, "program.txt");
    ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
    ASSERT_EQ(DeterministicBytes(*parsed), DeterministicBytes(program)) << text;
    ASSERT_EQ(PrintProgram(*parsed), text);
  }
}

}  // namespace
}  // namespace fixpoint
