// The text form: what each part of a program looks like, that nothing is lost, and what a mistake
// is told.

#include "proto/program_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/random_message.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

template <typename Message>
Message FromTextFormat(const std::string& text) {
  Message message;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowPartialMessage(true);
  EXPECT_TRUE(parser.ParseFromString(text, &message)) << text;
  return message;
}

std::string Bytes(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

// Expects `text` to say `program` and to be what the printer writes for it.
void ExpectText(const ProgramDesc& program, const std::string& text) {
  EXPECT_EQ(PrintProgram(program), text);
  const absl::StatusOr<ProgramDesc> parsed = ParseProgramText(text, "program.txt");
  ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
  EXPECT_EQ(parsed->DebugString(), program.DebugString());
  EXPECT_EQ(Bytes(*parsed), Bytes(program));
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

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<ProgramDesc> parsed = ParseProgramText(text, "p.txt");
  if (parsed.ok()) return "no error";
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(parsed.status().message());
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
                                              edit_log { fingerprint: 1 })pb"),
             "program op_versions=serialized \"\\n\\x06\\n\\x04relu\" "
             "edit_log=serialized \"\\t\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\"\n");
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
var x f32[1,2]   # a comment behind a line

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

TEST(ProgramText, AMistakeIsToldWithItsPlaceAndWhatWouldBeRight) {
  const std::pair<const char*, const char*> kCases[] = {
      {"f",
       "p.txt:1:2: found the end of the text; expected \"(\" before the slots of an op, like "
       "(X=x)"},
      {"1",
       "p.txt:1:1: found \"1\"; expected a line that begins with program, block, var or the type "
       "of an op"},
      {")",
       "p.txt:1:1: found \")\"; expected a line that begins with program, block, var or the type "
       "of an op"},
      {"f() g()",
       "p.txt:1:5: found \"g\"; expected -> (outputs), {attributes} or the end of the line"},
      {"}",
       "p.txt:1:1: \"}\" ends no block; expected a line that begins with program, block, var or "
       "the type of an op"},
      {"f()\nblock 0 {",
       "p.txt:2:1: a block after lines that are in none; expected all of them in blocks"},
      {"block 0 {\nf()", "p.txt:1:1: this block does not end; expected a line with \"}\""},
      {"block 0 {\nblock 1 {\n}\n}",
       "p.txt:2:1: a block in a block; expected a line with \"}\" before it"},
      {"block 0 {\n}\nf()",
       "p.txt:3:1: a line outside of the blocks; expected it before the \"}\" of one"},
      {"f()\nprogram",
       "p.txt:2:1: a program line in the middle; expected one at most, before all else"},
      {"op f()", "p.txt:1:4: found \"f\"; expected serialized and quoted bytes"},
      {"\"\\x01\"",
       "p.txt:1:7: found the end of the text; expected \"(\" before the slots of an op, like "
       "(X=x)"},
      {"program versoin=1",
       "p.txt:1:9: found \"versoin\"; expected version, op_versions, retired_version, "
       "retired_op_compatible_map, edit_log or unknown"},
      {"program version 1", "p.txt:1:17: found \"1\"; expected \"=\" after version"},
      {"program version=x", "p.txt:1:17: found \"x\"; expected a version number"},
      {"program version=1 version=2", "p.txt:1:26: version is given twice; expected it once"},
      {"program version=9223372036854775808",
       "p.txt:1:17: \"9223372036854775808\" is out of range; expected a version number of 64 bits"},
      {"program op_versions=1",
       "p.txt:1:21: found \"1\"; expected \"{\" before the versions of ops, like {conv2d=1}"},
      {"program op_versions={relu}",
       "p.txt:1:26: found \"}\"; expected \"=\" after the type of an op"},
      {"program op_versions={relu=2147483648}",
       "p.txt:1:27: \"2147483648\" is out of range; expected a version number of 32 bits"},
      {"program edit_log=\"x\"",
       "p.txt:1:18: found a quoted string; expected serialized and quoted bytes"},
      {"program edit_log=serialized \"\\xff\"",
       "p.txt:1:18: these bytes are no EditLog; expected its protobuf wire format"},
      {"program unknown=\"\\x08\"",
       "p.txt:1:9: these bytes are not a sequence of fields; expected protobuf's wire format"},
      {"program unknown=\"\"x",
       "p.txt:1:19: found \"x\"; expected version, op_versions, retired_version, "
       "retired_op_compatible_map, edit_log or unknown"},
      {"program retired_version=8", "p.txt:1:25: found \"8\"; expected quoted bytes"},
      {"block {", "p.txt:1:7: found \"{\"; expected the index of the block"},
      {"block x {", "p.txt:1:7: found \"x\"; expected the index of the block"},
      {"block 0 parnet=1 {",
       "p.txt:1:9: found \"parnet\"; expected parent=0, forward=0, unknown=\"...\" or \"{\""},
      {"block 0 parent=1 parent=1 {", "p.txt:1:24: parent is given twice; expected it once"},
      {"block 0",
       "p.txt:1:8: found the end of the text; expected parent=0, forward=0, unknown=\"...\" or "
       "\"{\""},
      {"block 0 { f() }", "p.txt:1:11: found \"f\"; expected the end of the line"},
      {"block serialized \"x\"",
       "p.txt:1:7: these bytes are no BlockDesc; expected its protobuf wire format"},
      {"var", "p.txt:1:4: found the end of the text; expected the name of a variable"},
      {"var x", "p.txt:1:6: found the end of the text; expected a type like f32[-1,10]"},
      {"var x f33[1]",
       "p.txt:1:7: \"f33\" is not the type of an element; expected the likes of f32, i64, u8 or "
       "bool"},
      {"var x f33",
       "p.txt:1:7: \"f33\" is not the type of a variable; expected the likes of f32[-1,10] or "
       "fetch_list"},
      {"var x f32[1", "p.txt:1:12: found the end of the text; expected \",\" or \"]\""},
      {"var x f32[1,]", "p.txt:1:13: found \"]\"; expected an extent"},
      {"var x f32[1.5]", "p.txt:1:11: found \"1.5\"; expected an extent"},
      {"var x f32[9223372036854775808]",
       "p.txt:1:11: \"9223372036854775808\" is out of range; expected an extent of 64 bits"},
      {"var x f32[a]", "p.txt:1:11: found \"a\"; expected an extent"},
      {"var x f32[] lod", "p.txt:1:16: found the end of the text; expected \"=\" after lod"},
      {"var x f32[] lod=99999999999",
       "p.txt:1:17: \"99999999999\" is out of range; expected a level of 32 bits"},
      {"var x f32[] persistent",
       "p.txt:1:13: \"persistent\" is not a property of a variable; expected persistable, "
       "need_check_feed, is_parameter, stop_gradient or {attributes}"},
      {"var x raw persistable persistable",
       "p.txt:1:23: persistable is given twice; expected it once"},
      {"var x raw persistable=yes", "p.txt:1:23: found \"yes\"; expected true or false"},
      {"var x raw f32[1]",
       "p.txt:1:11: a variable of type raw has no shape; expected the end of the line"},
      {"var x fetch_list f32[1]",
       "p.txt:1:18: a variable of type fetch_list has no shape; expected the end of the line"},
      {"var x raw raw=f32[1]",
       "p.txt:1:15: a variable of type raw has no shape; expected the end of the line"},
      {"var x f32[1] lod_tensor=f32[1]",
       "p.txt:1:25: lod_tensor is described twice; expected it once"},
      {"var x tuple(f33)", "p.txt:1:13: \"f33\" is not a type; expected the likes of f32"},
      {"var x reader(f33[])",
       "p.txt:1:14: \"f33\" is not the type of an element; expected the likes of f32, i64, u8 or "
       "bool"},
      {"var x raw {a=1.0}",
       "p.txt:1:12: an attribute of a variable is no float; expected an int, a string or ints"},
      {"var x raw {serialized \"x\"}",
       "p.txt:1:12: these bytes are no Attr; expected its protobuf wire format"},
      {"var serialized \"x\"",
       "p.txt:1:5: these bytes are no VarDesc; expected its protobuf wire format"},
      {"var x raw f()",
       "p.txt:1:11: \"f\" is not a property of a variable; expected persistable, need_check_feed, "
       "is_parameter, stop_gradient or {attributes}"},
      {"f(X)", "p.txt:1:4: found \")\"; expected \"=\" after the name of a slot"},
      {"f(X=)", "p.txt:1:5: found \")\"; expected the name of a variable"},
      {"f(X=a b)", "p.txt:1:7: found \"b\"; expected \",\" or \")\""},
      {"f(=a)", "p.txt:1:3: found \"=\"; expected a slot: X=x, X=[] or X=[x, y]"},
      {"f(X=[a)", "p.txt:1:7: found \")\"; expected \",\" or \"]\""},
      {"f(X=a", "p.txt:1:6: found the end of the text; expected \",\" or \")\""},
      {"f(X=a) - (Y=b)",
       "p.txt:1:8: found \"-\"; expected -> (outputs), {attributes} or the end of the line"},
      {"f(X=a) -> Y",
       "p.txt:1:11: found \"Y\"; expected \"(\" before the slots of an op, like (X=x)"},
      {"f() is_target=1", "p.txt:1:15: found \"1\"; expected true or false"},
      {"f() is_target is_target",
       "p.txt:1:15: found \"is_target\"; expected -> (outputs), {attributes} or the end of the "
       "line"},
      {"f() {a=1} {b=1}", "p.txt:1:11: found \"{\"; expected the end of the line"},
      {"f() unknown=\"\\x08\"",
       "p.txt:1:5: these bytes are not a sequence of fields; expected protobuf's wire format"},
      {"f() unknown=\"\\x08\\x01\" unknown=\"\\x08\\x01\"",
       "p.txt:1:31: unknown is given twice; expected it once"},
      {"f(serialized \"x\")",
       "p.txt:1:3: these bytes are no Var; expected its protobuf wire format"},
      {"op serialized \"x\"",
       "p.txt:1:4: these bytes are no OpDesc; expected its protobuf wire format"},
      {"f() {a}", "p.txt:1:7: found \"}\"; expected \"=\" after the name of an attribute"},
      {"f() {a=}",
       "p.txt:1:8: found \"}\"; expected a value: 1, 1L, 1.0, 1.0d, true, \"text\", block(1), "
       "var(x), scalar(1L), or a list of these like [1, 2] or ints[]"},
      {"f() {a=[]}",
       "p.txt:1:8: an empty list without a type; expected ints[], floats[], strings[] or the like"},
      {"f() {a=x}",
       "p.txt:1:8: found \"x\"; expected a value: 1, 1L, 1.0, 1.0d, true, \"text\", block(1), "
       "var(x), scalar(1L), or a list of these like [1, 2] or ints[]"},
      {"f() {a=ints}",
       "p.txt:1:8: found \"ints\"; expected a value: 1, 1L, 1.0, 1.0d, true, \"text\", block(1), "
       "var(x), scalar(1L), or a list of these like [1, 2] or ints[]"},
      {"f() {a=int[]}",
       "p.txt:1:8: \"int\" is not the type of a list; expected ints, longs, floats, float64s, "
       "strings, booleans, blocks, vars or scalars"},
      {"f() {a=ints[1]}",
       "p.txt:1:13: found \"1\"; expected \"]\" (elements show their type themselves, like [1, "
       "2])"},
      {"f() {a=[1, 1L]}",
       "p.txt:1:12: an element of type long in a list of type ints; expected elements of one type"},
      {"f() {a=[\"\", 1]}",
       "p.txt:1:13: an element of type int in a list of type strings; expected elements of one "
       "type"},
      {"f() {a=[1 2]}", "p.txt:1:11: found \"2\"; expected \",\" or \"]\""},
      {"f() {a=2147483648}",
       "p.txt:1:8: \"2147483648\" is out of range; expected an int of 32 bits, or a long, like 1L"},
      {"f() {a=-2147483649}",
       "p.txt:1:8: \"-2147483649\" is out of range; expected an int of 32 bits, or a long, like "
       "1L"},
      {"f() {a=9223372036854775808L}",
       "p.txt:1:8: \"9223372036854775808L\" is out of range; expected a long of 64 bits"},
      {"f() {a=1e39}",
       "p.txt:1:8: \"1e39\" is out of range; expected a float, or a double, like 1.0d"},
      {"f() {a=1e999d}", "p.txt:1:8: \"1e999d\" is out of range; expected a double"},
      {"f() {a=1.0L}", "p.txt:1:8: found \"1.0L\"; expected a number: 1, 1L, 1.0 or 1.0d"},
      {"f() {a=1x}", "p.txt:1:8: found \"1x\"; expected a number: 1, 1L, 1.0 or 1.0d"},
      {"f() {a=1.0.0}", "p.txt:1:8: found \"1.0.0\"; expected a number: 1, 1L, 1.0 or 1.0d"},
      {"f() {a=-}", "p.txt:1:8: found \"-\"; expected a number: 1, 1L, 1.0 or 1.0d"},
      {"f() {a=1-2}", "p.txt:1:8: found \"1-2\"; expected a number: 1, 1L, 1.0 or 1.0d"},
      {"f() {a=-nan}", "p.txt:1:8: found \"-nan\"; expected a number: 1, 1L, 1.0 or 1.0d"},
      {"f() {a=nan(1)}",
       "p.txt:1:12: found \"1\"; expected the bits of a NaN: 0x and up to 16 hexadecimal digits"},
      {"f() {a=nan(0x1)}", "p.txt:1:8: these are not the bits of a NaN; expected nan(0x7fc00000)"},
      {"f() {a=nan(0x7f800000)}",
       "p.txt:1:8: these are not the bits of a NaN; expected nan(0x7fc00000)"},
      {"f() {a=nan(0x7fc000000)}",
       "p.txt:1:8: these are not the bits of a NaN; expected nan(0x7fc00000)"},
      {"f() {a=nan(0x7fc00000}", "p.txt:1:22: found \"}\"; expected \")\" after the bits of a NaN"},
      {"f() {a=nan(0x7ff00000000000000)d}",
       "p.txt:1:12: found \"0x7ff00000000000000\"; expected the bits of a NaN: 0x and up to 16 "
       "hexadecimal digits"},
      {"f() {a=nanx}",
       "p.txt:1:8: found \"nanx\"; expected a value: 1, 1L, 1.0, 1.0d, true, \"text\", block(1), "
       "var(x), scalar(1L), or a list of these like [1, 2] or ints[]"},
      {"f() {a=block(x)}", "p.txt:1:14: found \"x\"; expected the index of a block"},
      {"f() {a=block(1}", "p.txt:1:15: found \"}\"; expected \")\" after the index of a block"},
      {"f() {a=block 1}",
       "p.txt:1:8: found \"block\"; expected a value: 1, 1L, 1.0, 1.0d, true, \"text\", block(1), "
       "var(x), scalar(1L), or a list of these like [1, 2] or ints[]"},
      {"f() {a=var()}", "p.txt:1:12: found \")\"; expected the name of a variable"},
      {"f() {a=scalar(1)}",
       "p.txt:1:15: a scalar is no int; expected scalar(true), scalar(1L), scalar(1.0d) or "
       "scalar(1.0d, 1.0d)"},
      {"f() {a=scalar(\"x\")}",
       "p.txt:1:15: found a quoted string; expected a number: 1, 1L, 1.0 or 1.0d"},
      {"f() {a=scalar(1.0d, 1.0)}",
       "p.txt:1:21: the imaginary part is no float; expected scalar(true), scalar(1L), "
       "scalar(1.0d) or scalar(1.0d, 1.0d)"},
      {"f() {a=func(1)}",
       "p.txt:1:8: found \"func\"; expected a value: 1, 1L, 1.0, 1.0d, true, \"text\", block(1), "
       "var(x), scalar(1L), or a list of these like [1, 2] or ints[]"},
      {"f() {serialized \"x\"}",
       "p.txt:1:6: these bytes are no Attr; expected its protobuf wire format"},
      {"f() {a=tru}",
       "p.txt:1:8: found \"tru\"; expected a value: 1, 1L, 1.0, 1.0d, true, \"text\", block(1), "
       "var(x), scalar(1L), or a list of these like [1, 2] or ints[]"},
      {"f() {a=1,}", "p.txt:1:10: found \"}\"; expected an attribute like axis=1"},
      {"\"f",
       "p.txt:1:1: the type of an op begins here and does not end on its line; expected a closing "
       "\", and \\n for a line end"},
      {"f(X=\"a\nb\")",
       "p.txt:1:5: the name of a variable begins here and does not end on its line; expected a "
       "closing \", and \\n for a line end"},
      {"f() {a=\"\\q\"}",
       "p.txt:1:9: a backslash that escapes nothing; expected \\\\, \\\", \\n, \\t or \\xHH"},
      {"f() {a=\"\\x4\"}",
       "p.txt:1:9: \\x without two hexadecimal digits; expected the likes of \\x0a"},
      {"f() {a=\"\\",
       "p.txt:1:9: a backslash that escapes nothing; expected \\\\, \\\", \\n, \\t or "
       "\\xHH\np.txt:1:8: a string begins here and does not end on its line; expected a closing "
       "\", and \\n for a line end"},
      {"\377()",
       "p.txt:1:1: found \"\\xff\"; expected a line that begins with program, block, var or the "
       "type of an op"},
  };
  for (const auto& [text, message] : kCases) EXPECT_EQ(ErrorOf(text), message) << text;
}

TEST(ProgramText, MistakesOfSeveralLinesAreToldTogether) {
  EXPECT_EQ(ErrorOf("block 0 {\n  f(X)  # }\n  g()\n  h() {a=x}\n}\n"),
            "p.txt:2:6: found \")\"; expected \"=\" after the name of a slot\n"
            "p.txt:4:10: found \"x\"; expected a value: 1, 1L, 1.0, 1.0d, true, \"text\", "
            "block(1), var(x), scalar(1L), or a list of these like [1, 2] or ints[]");
}

TEST(ProgramText, AfterALineThatEndsInsideBracketsNothingIsTold) {
  EXPECT_EQ(ErrorOf("f(X=a b\ng(X)\n"), "p.txt:1:7: found \"b\"; expected \",\" or \")\"");
}

TEST(ProgramText, TwentyMistakesAreEnough) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "1\n";
  const std::string error = ErrorOf(text);
  EXPECT_THAT(error, HasSubstr("p.txt:20:1: "));
  EXPECT_THAT(error, Not(HasSubstr("p.txt:21:1: ")));
}

TEST(ProgramText, LongInputIsCutInMessages) {
  EXPECT_EQ(ErrorOf(absl::StrCat("f() {a=", std::string(1000, '1'), "}")),
            absl::StrCat("p.txt:1:8: \"", std::string(40, '1'),
                         "\"... is out of range; expected an int of 32 bits, or a long, like 1L"));
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
    ASSERT_EQ(Bytes(*parsed), Bytes(program)) << text;
    ASSERT_EQ(PrintProgram(*parsed), text);
  }
}

}  // namespace
}  // namespace fixpoint
