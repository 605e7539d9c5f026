#include "proto/wire/required_fields.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

#include "proto/wire/program.pb.h"
#include "tests/testing/random_message.h"

namespace fixpoint {
namespace {

ProgramDesc FromTextFormat(const std::string& text) {
  ProgramDesc program;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowPartialMessage(true);
  EXPECT_TRUE(parser.ParseFromString(text, &program)) << text;
  return program;
}

TEST(CheckRequiredFields, NamesThePlaceOfTheFirstThatIsMissing) {
  const std::pair<const char*, const char*> kCases[] = {
      {"blocks { parent_idx: -1 }", "p: block 0: idx is missing; it is required"},
      {"blocks { idx: 0 }", "p: block 0: parent_idx is missing; it is required"},
      {"blocks { idx: 0 parent_idx: -1 } blocks { idx: 1 parent_idx: 0 ops { type: 'relu' } ops {} "
       "}",
       "p: block 1, op 1: type is missing; it is required"},
      {"blocks { idx: 0 parent_idx: -1 ops { type: 'relu' inputs {} } }",
       "p: block 0, op 0 (relu), input 0: parameter is missing; it is required"},
      {"blocks { idx: 0 parent_idx: -1 ops { type: 'relu' outputs { parameter: 'X' } outputs {} } "
       "}",
       "p: block 0, op 0 (relu), output 1: parameter is missing; it is required"},
      {"blocks { idx: 0 parent_idx: -1 ops { type: 'relu' attrs { name: 'axis' } } }",
       "p: block 0, op 0 (relu), attribute 0 (axis): type is missing; it is required"},
      {"blocks { idx: 0 parent_idx: -1 ops { type: 'relu' attrs { name: 'axis' type: SCALAR "
       "scalar { type: COMPLEX128 c { r: 1 } } } } }",
       "p: block 0, op 0 (relu), attribute 0 (axis), scalar, c: i is missing; it is required"},
      {"blocks { idx: 0 parent_idx: -1 vars { name: 'x' } }",
       "p: block 0, variable 0 (x): type is missing; it is required"},
      {"blocks { idx: 0 parent_idx: -1 vars { type { type: RAW } } }",
       "p: block 0, variable 0: name is missing; it is required"},
      {"blocks { idx: 0 parent_idx: -1 vars { name: 'a\\n' type {} } }",
       "p: block 0, variable 0 (a\\n), type: type is missing; it is required"},
      {"blocks { idx: 0 parent_idx: -1 vars { name: 'x' type { type: LOD_TENSOR lod_tensor { "
       "tensor "
       "{} } } } }",
       "p: block 0, variable 0 (x), type, lod_tensor, tensor: data_type is missing; it is "
       "required"},
      {"op_version_map { pair { op_name: 'relu' op_version {} } }",
       "p: op_version_map, pair 0 (relu), op_version: version is missing; it is required"},
  };
  for (const auto& [program, message] : kCases) {
    EXPECT_EQ(CheckRequiredFields(FromTextFormat(program), "p"),
              absl::InvalidArgumentError(message))
        << program;
  }
}

TEST(CheckRequiredFields, TellsAnEnumeratorThatIsNotKnown) {
  ProgramDesc program =
      FromTextFormat("blocks { idx: 0 parent_idx: -1 ops { type: 'f' attrs { name: 'a' } } }");
  OpDesc::Attr* const attr = program.mutable_blocks(0)->mutable_ops(0)->mutable_attrs(0);
  attr->mutable_unknown_fields()->AddVarint(OpDesc::Attr::kTypeFieldNumber, 99);
  EXPECT_EQ(CheckRequiredFields(program, "p"),
            absl::InvalidArgumentError("p: block 0, op 0 (f), attribute 0 (a): type is 99; "
                                       "expected 0 to 17"));
}

TEST(CheckRequiredFields, AgreesWithProtobuf) {
  std::mt19937 random(1);
  int complete = 0;
  for (int i = 0; i < 500; ++i) {
    ProgramDesc program;
    FillRandomly(&random, &program);
    EXPECT_EQ(CheckRequiredFields(program, "p").ok(), program.IsInitialized());
    complete += program.IsInitialized();
  }
  EXPECT_GT(complete, 50);
  EXPECT_LT(complete, 450);
}

}  // namespace
}  // namespace fixpoint
