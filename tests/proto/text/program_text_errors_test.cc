// Mistakes in the text form: each is told with its place and what would be right.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<ProgramDesc> parsed = ParseProgramText(text, "p");
  if (parsed.ok()) return "no error";
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(parsed.status().message());
}

// Pairs of a text and its error.
using Mistakes = std::vector<std::pair<std::string, std::string>>;

void ExpectErrors(const Mistakes& mistakes) {
  for (const auto& [text, error] : mistakes) EXPECT_EQ(ErrorOf(text), error) << text;
}

const char kValue[] =
    "a value: 1, 1L, 1.0, 1.0d, true, \"text\", block(1), var(x), scalar(1L), or a list of these "
    "like [1, 2] or ints[]";

TEST(ProgramTextErrors, LinesThatBeginNothing) {
  ExpectErrors({
      {"f",
       R"(p:1:2: found the end of the text; expected "(" before the slots of an op, like (X=x))"},
      {"1",
       "p:1:1: found \"1\"; expected a line that begins with program, block, var or the type of an "
       "op"},
      {")",
       "p:1:1: found \")\"; expected a line that begins with program, block, var or the type of an "
       "op"},
      {"f() g()",
       R"(p:1:5: found "g"; expected -> (outputs), {attributes} or the end of the line)"},
      {"}",
       "p:1:1: \"}\" ends no block; expected a line that begins with program, block, var or the "
       "type of an op"},
      {"op f()", R"(p:1:4: found "f"; expected serialized and quoted bytes)"},
      {R"("\x01")",
       R"(p:1:7: found the end of the text; expected "(" before the slots of an op, like (X=x))"},
      {"\377()",
       "p:1:1: found \"\\xff\"; expected a line that begins with program, block, var or the type "
       "of an op"},
  });
}

TEST(ProgramTextErrors, LinesInTheWrongPlace) {
  ExpectErrors({
      {"f()\nblock 0 {",
       "p:2:1: a block after lines that are in none; expected all of them in blocks"},
      {"block 0 {\nf()", R"(p:1:1: this block does not end; expected a line with "}")"},
      {"block 0 {\nblock 1 {\n}\n}",
       R"(p:2:1: a block in a block; expected a line with "}" before it)"},
      {"block 0 {\n}\nf()",
       R"(p:3:1: a line outside of the blocks; expected it before the "}" of one)"},
      {"f()\nprogram",
       "p:2:1: a program line in the middle; expected one at most, before all else"},
  });
}

TEST(ProgramTextErrors, Header) {
  ExpectErrors({
      {"program versoin=1",
       "p:1:9: found \"versoin\"; expected version, op_versions, retired_version, "
       "retired_op_compatible_map, edit_log, composites or unknown"},
      {"program version 1", R"(p:1:17: found "1"; expected "=" after version)"},
      {"program version=x", R"(p:1:17: found "x"; expected a version number)"},
      {"program version=1 version=2", "p:1:26: version is given twice; expected it once"},
      {"program version=9223372036854775808",
       R"(p:1:17: "9223372036854775808" is out of range; expected a version number of 64 bits)"},
      {"program op_versions=1",
       R"(p:1:21: found "1"; expected "{" before the versions of ops, like {conv2d=1})"},
      {"program op_versions={relu}", R"(p:1:26: found "}"; expected "=" after the type of an op)"},
      {"program op_versions={relu=2147483648}",
       R"(p:1:27: "2147483648" is out of range; expected a version number of 32 bits)"},
      {R"(program edit_log="x")",
       "p:1:18: found a quoted string; expected serialized and quoted bytes"},
      {R"(program edit_log=serialized "\xff")",
       "p:1:18: these bytes are no EditLog; expected its protobuf wire format"},
      {R"(program composites={})", "p:1:20: found \"{\"; expected serialized and quoted bytes"},
      {R"(program composites="x")",
       "p:1:20: found a quoted string; expected serialized and quoted bytes"},
      {R"(program unknown="\x08")",
       "p:1:9: these bytes are not a sequence of fields; expected protobuf's wire format"},
      {R"(program unknown=""x)",
       "p:1:19: found \"x\"; expected version, op_versions, retired_version, "
       "retired_op_compatible_map, edit_log, composites or unknown"},
      {"program retired_version=8", R"(p:1:25: found "8"; expected quoted bytes)"},
  });
}

TEST(ProgramTextErrors, Blocks) {
  ExpectErrors({
      {"block {", R"(p:1:7: found "{"; expected the index of the block)"},
      {"block x {", R"(p:1:7: found "x"; expected the index of the block)"},
      {"block 0 parnet=1 {",
       R"(p:1:9: found "parnet"; expected parent=0, forward=0, unknown="..." or "{")"},
      {"block 0 parent=1 parent=1 {", "p:1:24: parent is given twice; expected it once"},
      {"block 0",
       R"(p:1:8: found the end of the text; expected parent=0, forward=0, unknown="..." or "{")"},
      {"block 0 { f() }", R"(p:1:11: found "f"; expected the end of the line)"},
      {R"(block serialized "x")",
       "p:1:7: these bytes are no BlockDesc; expected its protobuf wire format"},
  });
}

TEST(ProgramTextErrors, Variables) {
  ExpectErrors({
      {"var", "p:1:4: found the end of the text; expected the name of a variable"},
      {"var x", "p:1:6: found the end of the text; expected a type like f32[-1,10]"},
      {"var x f33[1]",
       R"(p:1:7: "f33" is not the type of an element; expected the likes of f32, i64, u8 or bool)"},
      {"var x f33",
       "p:1:7: \"f33\" is not the type of a variable; expected the likes of f32[-1,10] or "
       "fetch_list"},
      {"var x f32[1", R"(p:1:12: found the end of the text; expected "," or "]")"},
      {"var x f32[1,]", R"(p:1:13: found "]"; expected an extent)"},
      {"var x f32[1.5]", R"(p:1:11: found "1.5"; expected an extent)"},
      {"var x f32[9223372036854775808]",
       R"(p:1:11: "9223372036854775808" is out of range; expected an extent of 64 bits)"},
      {"var x f32[a]", R"(p:1:11: found "a"; expected an extent)"},
      {"var x f32[] lod", R"(p:1:16: found the end of the text; expected "=" after lod)"},
      {"var x f32[] lod=99999999999",
       R"(p:1:17: "99999999999" is out of range; expected a level of 32 bits)"},
      {"var x f32[] persistent",
       "p:1:13: \"persistent\" is not a property of a variable; expected persistable, "
       "need_check_feed, is_parameter, stop_gradient or {attributes}"},
      {"var x raw persistable persistable", "p:1:23: persistable is given twice; expected it once"},
      {"var x raw persistable=yes", R"(p:1:23: found "yes"; expected true or false)"},
      {"var x raw f32[1]",
       "p:1:11: a variable of type raw has no shape; expected the end of the line"},
      {"var x fetch_list f32[1]",
       "p:1:18: a variable of type fetch_list has no shape; expected the end of the line"},
      {"var x raw raw=f32[1]",
       "p:1:15: a variable of type raw has no shape; expected the end of the line"},
      {"var x f32[1] lod_tensor=f32[1]", "p:1:25: lod_tensor is described twice; expected it once"},
      {"var x tuple(f33)", R"(p:1:13: "f33" is not a type; expected the likes of f32)"},
      {"var x reader(f33[])",
       "p:1:14: \"f33\" is not the type of an element; expected the likes of f32, i64, u8 or bool"},
      {"var x raw {a=1.0}",
       "p:1:12: an attribute of a variable is no float; expected an int, a string or ints"},
      {R"(var x raw {serialized "x"})",
       "p:1:12: these bytes are no Attr; expected its protobuf wire format"},
      {R"(var serialized "x")",
       "p:1:5: these bytes are no VarDesc; expected its protobuf wire format"},
      {"var x raw f()",
       "p:1:11: \"f\" is not a property of a variable; expected persistable, need_check_feed, "
       "is_parameter, stop_gradient or {attributes}"},
  });
}

TEST(ProgramTextErrors, Ops) {
  ExpectErrors({
      {"f(X)", "p:1:4: found \")\"; expected \"=\" after the name of a slot"},
      {"f(X=)", "p:1:5: found \")\"; expected the name of a variable"},
      {"f(X=a b)", "p:1:7: found \"b\"; expected \",\" or \")\""},
      {"f(=a)", R"(p:1:3: found "="; expected a slot: X=x, X=[] or X=[x, y])"},
      {"f(X=[a)", "p:1:7: found \")\"; expected \",\" or \"]\""},
      {"f(X=a", "p:1:6: found the end of the text; expected \",\" or \")\""},
      {"f(X=a) - (Y=b)",
       R"(p:1:8: found "-"; expected -> (outputs), {attributes} or the end of the line)"},
      {"f(X=a) -> Y", R"(p:1:11: found "Y"; expected "(" before the slots of an op, like (X=x))"},
      {"f() is_target=1", R"(p:1:15: found "1"; expected true or false)"},
      {"f() is_target is_target",
       R"(p:1:15: found "is_target"; expected -> (outputs), {attributes} or the end of the line)"},
      {"f() {a=1} {b=1}", R"(p:1:11: found "{"; expected the end of the line)"},
      {R"(f() unknown="\x08")",
       "p:1:5: these bytes are not a sequence of fields; expected protobuf's wire format"},
      {R"(f() unknown="\x08\x01" unknown="\x08\x01")",
       "p:1:31: unknown is given twice; expected it once"},
      {R"(f(serialized "x"))", "p:1:3: these bytes are no Var; expected its protobuf wire format"},
      {R"(op serialized "x")",
       "p:1:4: these bytes are no OpDesc; expected its protobuf wire format"},
  });
}

TEST(ProgramTextErrors, Attributes) {
  ExpectErrors({
      {"f() {a}", R"(p:1:7: found "}"; expected "=" after the name of an attribute)"},
      {"f() {a=}", absl::StrCat(R"(p:1:8: found "}"; expected )", kValue)},
      {"f() {a=[]}",
       "p:1:8: an empty list without a type; expected ints[], floats[], strings[] or the like"},
      {"f() {a=x}", absl::StrCat(R"(p:1:8: found "x"; expected )", kValue)},
      {"f() {a=ints}", absl::StrCat(R"(p:1:8: found "ints"; expected )", kValue)},
      {"f() {a=int[]}",
       "p:1:8: \"int\" is not the type of a list; expected ints, longs, floats, float64s, strings, "
       "booleans, blocks, vars or scalars"},
      {"f() {a=ints[1]}",
       R"(p:1:13: found "1"; expected "]" (elements show their type themselves, like [1, 2]))"},
      {"f() {a=[1, 1L]}",
       "p:1:12: an element of type long in a list of type ints; expected elements of one type"},
      {R"(f() {a=["", 1]})",
       "p:1:13: an element of type int in a list of type strings; expected elements of one type"},
      {"f() {a=[1 2]}", R"(p:1:11: found "2"; expected "," or "]")"},
      {"f() {a=block(x)}", R"(p:1:14: found "x"; expected the index of a block)"},
      {"f() {a=block(1}", "p:1:15: found \"}\"; expected \")\" after the index of a block"},
      {"f() {a=block 1}", absl::StrCat(R"(p:1:8: found "block"; expected )", kValue)},
      {"f() {a=var()}", "p:1:12: found \")\"; expected the name of a variable"},
      {"f() {a=func(1)}", absl::StrCat(R"(p:1:8: found "func"; expected )", kValue)},
      {R"(f() {serialized "x"})",
       "p:1:6: these bytes are no Attr; expected its protobuf wire format"},
      {"f() {a=tru}", absl::StrCat(R"(p:1:8: found "tru"; expected )", kValue)},
      {"f() {a=1,}", R"(p:1:10: found "}"; expected an attribute like axis=1)"},
  });
}

TEST(ProgramTextErrors, Numbers) {
  ExpectErrors({
      {"f() {a=2147483648}",
       R"(p:1:8: "2147483648" is out of range; expected an int of 32 bits, or a long, like 1L)"},
      {"f() {a=-2147483649}",
       R"(p:1:8: "-2147483649" is out of range; expected an int of 32 bits, or a long, like 1L)"},
      {"f() {a=9223372036854775808L}",
       R"(p:1:8: "9223372036854775808L" is out of range; expected a long of 64 bits)"},
      {"f() {a=1e39}",
       R"(p:1:8: "1e39" is out of range; expected a float, or a double, like 1.0d)"},
      {"f() {a=1e999d}", R"(p:1:8: "1e999d" is out of range; expected a double)"},
      {"f() {a=1.0L}", R"(p:1:8: found "1.0L"; expected a number: 1, 1L, 1.0 or 1.0d)"},
      {"f() {a=1x}", R"(p:1:8: found "1x"; expected a number: 1, 1L, 1.0 or 1.0d)"},
      {"f() {a=1.0.0}", R"(p:1:8: found "1.0.0"; expected a number: 1, 1L, 1.0 or 1.0d)"},
      {"f() {a=-}", R"(p:1:8: found "-"; expected a number: 1, 1L, 1.0 or 1.0d)"},
      {"f() {a=1-2}", R"(p:1:8: found "1-2"; expected a number: 1, 1L, 1.0 or 1.0d)"},
      {"f() {a=-nan}", R"(p:1:8: found "-nan"; expected a number: 1, 1L, 1.0 or 1.0d)"},
      {"f() {a=nan(1)}",
       R"(p:1:12: found "1"; expected the bits of a NaN: 0x and up to 16 hexadecimal digits)"},
      {"f() {a=nan(0x1)}", "p:1:8: these are not the bits of a NaN; expected nan(0x7fc00000)"},
      {"f() {a=nan(0x7f800000)}",
       "p:1:8: these are not the bits of a NaN; expected nan(0x7fc00000)"},
      {"f() {a=nan(0x7fc000000)}",
       "p:1:8: these are not the bits of a NaN; expected nan(0x7fc00000)"},
      {"f() {a=nan(0x7fc00000}", "p:1:22: found \"}\"; expected \")\" after the bits of a NaN"},
      {"f() {a=nan(0x7ff00000000000000)d}",
       "p:1:12: found \"0x7ff00000000000000\"; expected the bits of a NaN: 0x and up to 16 "
       "hexadecimal digits"},
      {"f() {a=nanx}", absl::StrCat(R"(p:1:8: found "nanx"; expected )", kValue)},
      {"f() {a=scalar(1)}",
       "p:1:15: a scalar is no int; expected scalar(true), scalar(1L), scalar(1.0d) or "
       "scalar(1.0d, 1.0d)"},
      {R"(f() {a=scalar("x")})",
       "p:1:15: found a quoted string; expected a number: 1, 1L, 1.0 or 1.0d"},
      {"f() {a=scalar(1.0d, 1.0)}",
       "p:1:21: the imaginary part is no float; expected scalar(true), scalar(1L), scalar(1.0d) or "
       "scalar(1.0d, 1.0d)"},
  });
}

TEST(ProgramTextErrors, Strings) {
  ExpectErrors({
      {R"("f)",
       "p:1:1: the type of an op begins here and does not end on its line; expected a closing \", "
       "and \\n for a line end"},
      {"f(X=\"a\nb\")",
       "p:1:5: the name of a variable begins here and does not end on its line; expected a closing "
       "\", and \\n for a line end"},
      {R"(f() {a="\q"})",
       R"(p:1:9: a backslash that escapes nothing; expected \\, \", \n, \t or \xHH)"},
      {R"(f() {a="\x4"})",
       R"(p:1:9: \x without two hexadecimal digits; expected the likes of \x0a)"},
      {R"(f() {a="\)",
       "p:1:9: a backslash that escapes nothing; expected \\\\, \\\", \\n, \\t or \\xHH\np:1:8: a "
       "string begins here and does not end on its line; expected a closing \", and \\n for a line "
       "end"},
  });
}

TEST(ProgramTextErrors, MistakesOfSeveralLinesAreToldTogether) {
  EXPECT_EQ(ErrorOf("block 0 {\n  f(X)  # }\n  g()\n  h() {a=x}\n}\n"),
            absl::StrCat("p:2:6: found \")\"; expected \"=\" after the name of a slot\n"
                         "p:4:10: found \"x\"; expected ",
                         kValue));
}

TEST(ProgramTextErrors, AfterALineThatEndsInsideBracketsNothingIsTold) {
  EXPECT_EQ(ErrorOf("f(X=a b\ng(X)\n"), "p:1:7: found \"b\"; expected \",\" or \")\"");
}

TEST(ProgramTextErrors, TwentyMistakesAreEnough) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "var 1\n";
  const std::string error = ErrorOf(text);
  EXPECT_THAT(error, HasSubstr("p:20:5: "));
  EXPECT_THAT(error, Not(HasSubstr("p:21:5: ")));
}

TEST(ProgramTextErrors, OfATextThatIsNoProgramOneMistakeIsTold) {
  EXPECT_EQ(ErrorOf("# Fixpoint\n\nFixpoint turns programs (of training)\ninto others.\n"),
            "p: is not a program; no line begins as one of a program's text\n"
            "p:3:10: found \"turns\"; expected \"(\" before the slots of an op, like (X=x)");
}

TEST(ProgramTextErrors, LongInputIsCutInMessages) {
  EXPECT_EQ(ErrorOf(absl::StrCat("f() {a=", std::string(1000, '1'), "}")),
            absl::StrCat("p:1:8: \"", std::string(40, '1'),
                         "\"... is out of range; expected an int of 32 bits, or a long, like 1L"));
}

}  // namespace
}  // namespace fixpoint
