// Our schemas against the reference's own registry, of 1.8.5 and of 2.6.2 (op_protos.tsv).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ops/op_schema.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

// Lines such as "in Bias?" and "attr groups INT 1", by op.
using Protos = std::map<std::string, std::set<std::string>>;

struct ReferenceOps {
  Protos protos;
  Protos gradients;  // of ops whose gradient is known; an empty set: it has none
};

std::string FloatText(double value) { return absl::StrFormat("%.9g", static_cast<float>(value)); }

// The reference's default in our spelling.
std::string DefaultText(const std::string& type, const std::string& text) {
  if (text == "<required>") return text;
  double number;
  if (type == "FLOAT" && absl::SimpleAtod(text, &number)) return FloatText(number);
  if (type == "FLOATS") {
    absl::string_view list = text;
    absl::ConsumePrefix(&list, "[");
    absl::ConsumeSuffix(&list, "]");
    std::vector<std::string> items;
    for (absl::string_view item : absl::StrSplit(list, ", ", absl::SkipEmpty())) {
      EXPECT_TRUE(absl::SimpleAtod(item, &number)) << text;
      items.push_back(FloatText(number));
    }
    return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
  }
  return text;
}

std::string FlagsOf(absl::string_view flags) {
  std::string kept;
  if (absl::StrContains(flags, '*')) kept += '*';
  // 2.x leaves extra slots out of files.
  if (absl::StrContains(flags, '?') || absl::StrContains(flags, 'x')) kept += '?';
  return kept;
}

std::string SortedSlots(absl::string_view slots) {
  std::vector<std::string> sorted = absl::StrSplit(slots, ';', absl::SkipEmpty());
  std::sort(sorted.begin(), sorted.end());
  return absl::StrJoin(sorted, ";");
}

ReferenceOps ReadReference(Era era) {
  ReferenceOps ops;
  const std::string tsv = ReadFileOrDie(ReferencePath("op_protos.tsv"));
  for (absl::string_view line : absl::StrSplit(tsv, '\n', absl::SkipEmpty())) {
    if (absl::StartsWith(line, "#")) continue;
    std::vector<std::string> fields = absl::StrSplit(line, '\t');
    fields.resize(6);
    if ((fields[0] == "1.8.5") != (era == Era::kFluid)) continue;
    const std::string& op = fields[1];
    const std::string& kind = fields[2];
    if (kind == "in" || kind == "out") {
      ops.protos[op].insert(absl::StrCat(kind, " ", fields[3], FlagsOf(fields[4])));
    } else if (kind == "grad_op") {
      std::set<std::string>& gradients = ops.gradients[op];
      if (fields[3] == "<none>") continue;
      gradients.insert(absl::StrCat(fields[3], "(", SortedSlots(fields[4]), ") -> (",
                                    SortedSlots(fields[5]), ")"));
    } else {
      // "INTS|t": may come from a tensor; "|x": an extra attribute. "LIST?": an empty list whose
      // kind the registry does not tell.
      const std::string type = std::vector<std::string>(absl::StrSplit(fields[4], '|')).front();
      ops.protos[op].insert(type == "LIST?" ? absl::StrCat("attr ", fields[3], " of any list")
                                            : absl::StrCat("attr ", fields[3], " ", type, " ",
                                                           DefaultText(type, fields[5])));
    }
  }
  return ops;
}

template <typename Values, typename Print>
std::string ListText(const Values& values, Print print) {
  std::vector<std::string> items;
  for (const auto& value : values) items.push_back(print(value));
  return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
}

std::string ValueText(const OpDesc::Attr& attr) {
  const auto number = [](auto value) { return absl::StrCat(value); };
  const auto quoted = [](const std::string& text) { return absl::StrCat("\"", text, "\""); };
  switch (attr.type()) {
    case INT:
      return absl::StrCat(attr.i());
    case LONG:
      return absl::StrCat(attr.l());
    case FLOAT:
      return FloatText(attr.f());
    case BOOLEAN:
      return attr.b() ? "true" : "false";
    case STRING:
      return quoted(attr.s());
    case INTS:
      return ListText(attr.ints(), number);
    case LONGS:
      return ListText(attr.longs(), number);
    case FLOATS:
      return ListText(attr.floats(), FloatText);
    case STRINGS:
      return ListText(attr.strings(), quoted);
    default:
      return "[]";
  }
}

bool IsList(AttrType type) {
  return type == INTS || type == LONGS || type == FLOATS || type == STRINGS;
}

std::set<std::string> OursOf(const OpSchema& op, Era era, const std::set<std::string>& reference) {
  std::set<std::string> lines;
  const auto add_slots = [&](const char* kind, absl::Span<const SlotSchema> slots) {
    for (const SlotSchema& slot : slots) {
      if (!Includes(slot.eras, era)) continue;
      lines.insert(
          absl::StrCat(kind, " ", slot.name, slot.list ? "*" : "", slot.optional ? "?" : ""));
    }
  };
  add_slots("in", op.inputs());
  add_slots("out", op.outputs());
  for (const AttrSchema& attr : op.attrs()) {
    if (!Includes(attr.eras, era)) continue;
    const std::string any_list = absl::StrCat("attr ", attr.name, " of any list");
    if (IsList(attr.type) && reference.count(any_list) > 0) {
      lines.insert(any_list);
      continue;
    }
    lines.insert(absl::StrCat("attr ", attr.name, " ", AttrType_Name(attr.type), " ",
                              attr.default_value ? ValueText(*attr.default_value) : "<required>"));
  }
  return lines;
}

// A forward op whose arguments are named as the table names them.
OpDesc ForwardOp(const OpSchema& schema, Era era) {
  OpDesc op;
  op.set_type(schema.type());
  const auto add = [&](const SlotSchema& slot, absl::string_view prefix, OpDesc::Var* made) {
    made->set_parameter(slot.name);
    made->add_arguments(absl::StrCat(prefix, slot.name));
  };
  for (const SlotSchema& slot : schema.inputs()) {
    if (Includes(slot.eras, era)) add(slot, "", op.add_inputs());
  }
  for (const SlotSchema& slot : schema.outputs()) {
    if (Includes(slot.eras, era)) add(slot, "out:", op.add_outputs());
  }
  return op;
}

std::string SlotsText(const google::protobuf::RepeatedPtrField<OpDesc::Var>& slots) {
  std::set<std::string> sorted;
  for (const OpDesc::Var& slot : slots) {
    sorted.insert(absl::StrCat(slot.parameter(), "=", absl::StrJoin(slot.arguments(), ",")));
  }
  return absl::StrJoin(sorted, ";");
}

// Attributes that ops of the reference have here, where a target asks for it.
bool IsOurAttribute(absl::string_view line) {
  return line == "attr power_of_two_steps BOOLEAN false" || line == "attr state_bits INT 0";
}

std::vector<std::string> Differences(const std::string& op, const std::set<std::string>& reference,
                                     const std::set<std::string>& ours) {
  std::vector<std::string> differences;
  const auto add = [&](absl::string_view what, const std::string& line) {
    differences.push_back(absl::StrCat(op, ": ", what, " ", line));
  };
  for (const std::string& line : reference) {
    if (ours.count(line) == 0) add("lacks", line);
  }
  for (const std::string& line : ours) {
    if (reference.count(line) == 0 && !IsOurAttribute(line)) add("has", line);
  }
  return differences;
}

class OpProtos : public testing::TestWithParam<Era> {};

// What the registry requires and files leave empty: a block may read nothing from outside. And the
// formats of rows, the bits of the codes whose steps are powers of two, and what paddle-mobile
// calls by the names of oneDNN's ops.
const char* const kOurDifferences[] = {
    "conditional_block: has in Input*?",
    "conditional_block: lacks in Input*",
    "dequantize: has attr max_range FLOAT 0",
    "dequantize: has attr quant_axis INT -1",
    "dequantize: has attr quant_bits INTS [8]",
    "dequantize: has attr x_num_col_dims INT 1",
    "dequantize: has in Input?",
    "dequantize: has in Scale?",
    "dequantize: has in Scales*?",
    "dequantize: has in X?",
    "dequantize: has out Out?",
    "dequantize: has out Output?",
    "dequantize: lacks in Input",
    "dequantize: lacks out Output",
    "lookup_table_dequant: has attr row_format STRING \"paddle_dequant\"",
    "moving_average_abs_max_scale: has attr bit_length INT 8",
    "quantize: has attr bit_length INT 8",
    "quantize: has attr is_test BOOLEAN true",
    "quantize: has attr round_type INT 1",
    "quantize: has in InScale?",
    "quantize: has in Input?",
    "quantize: has in X?",
    "quantize: has out Out?",
    "quantize: has out OutScale?",
    "quantize: has out Output?",
    "quantize: lacks in Input",
    "quantize: lacks out Output",
    "recurrent: has in parameters*?",
    "recurrent: lacks in parameters*",
    "while: has in X*?",
    "while: lacks in X*",
};

TEST_P(OpProtos, SlotsAndAttributesAreTheReferences) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const ReferenceOps reference = ReadReference(GetParam());
  std::vector<std::string> differences;
  int compared = 0;
  for (const auto& [op, lines] : reference.protos) {
    const OpSchema* schema = FindOpSchema(op);
    if (schema == nullptr) continue;
    ++compared;
    const std::vector<std::string> of_op =
        Differences(op, lines, OursOf(*schema, GetParam(), lines));
    differences.insert(differences.end(), of_op.begin(), of_op.end());
  }
  EXPECT_THAT(differences, testing::UnorderedElementsAreArray(kOurDifferences));
  EXPECT_GE(compared, 190);
}

TEST_P(OpProtos, GradientOpsAreTheReferences) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const ReferenceOps reference = ReadReference(GetParam());
  std::vector<std::string> differences;
  for (const auto& [op, lines] : reference.gradients) {
    const OpSchema* schema = FindOpSchema(op);
    if (schema == nullptr) continue;
    std::set<std::string> ours;
    for (const OpDesc& made : schema->MakeGradient(ForwardOp(*schema, GetParam()), GetParam())) {
      ours.insert(absl::StrCat(made.type(), "(", SlotsText(made.inputs()), ") -> (",
                               SlotsText(made.outputs()), ")"));
    }
    const std::vector<std::string> of_op = Differences(op, lines, ours);
    differences.insert(differences.end(), of_op.begin(), of_op.end());
  }
  EXPECT_THAT(differences, testing::IsEmpty());
}

std::string EraName(const testing::TestParamInfo<Era>& era) {
  return era.param == Era::kFluid ? "Fluid" : "Paddle2";
}

INSTANTIATE_TEST_SUITE_P(Eras, OpProtos, testing::Values(Era::kFluid, Era::kPaddle2), EraName);

}  // namespace
}  // namespace fixpoint
