#include "ops/epilogue_attributes.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/era.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/type_names.h"

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;

constexpr char kStages[] = "epilogue";
constexpr char kA[] = "epilogue_a";
constexpr char kB[] = "epilogue_b";

// The elements of an attribute, or of its default.
template <typename T>
absl::StatusOr<std::vector<T>> ListOf(
    const OpDesc& op, const char* name, AttrType wanted,
    std::optional<std::vector<T>> (*value_of)(const OpDesc::Attr& attr)) {
  const OpDesc::Attr* const attr = AttrOrDefault(op, name, Era::kPaddle2);
  if (attr == nullptr) return std::vector<T>();
  std::optional<std::vector<T>> list = value_of(*attr);
  if (list) return *std::move(list);
  return absl::InvalidArgumentError(absl::StrCat(
      "attribute ", name, " is ", AttrTypeName(attr->type()), "; want ", AttrTypeName(wanted)));
}

// What a stage subtracts from codes has to be a code, and what requantizes rounds once or twice.
absl::Status CheckParameters(const EpilogueStage& stage) {
  if (stage.kind == Kind::kRequantize && stage.a != 1 && stage.a != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("requantize has ", stage.a, " roundings; want 1 or 2"));
  }
  if (!stage.is_of_codes()) return absl::OkStatus();
  const CodeRange codes = CodesOfByte(stage.is_of_unsigned_codes());
  if (IsCode(stage.b, codes)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the zero point of ", std::string(StageName(stage.kind)), " is ", stage.b,
                   "; want a code, ", codes.smallest, " to ", codes.largest));
}

}  // namespace

absl::StatusOr<Epilogue> EpilogueOf(const OpDesc& op) {
  ASSIGN_OR_RETURN(const auto names, ListOf(op, kStages, AttrType::STRINGS, StringsValue));
  ASSIGN_OR_RETURN(const auto a, ListOf(op, kA, AttrType::FLOATS, FloatsValue));
  ASSIGN_OR_RETURN(const auto b, ListOf(op, kB, AttrType::FLOATS, FloatsValue));
  if (a.size() != names.size() || b.size() != names.size()) {
    return absl::InvalidArgumentError(absl::StrCat(kStages, " names ", names.size(), " stages, ",
                                                   kA, " has ", a.size(), " numbers and ", kB, " ",
                                                   b.size(), "; want one of each for each stage"));
  }
  Epilogue epilogue;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::optional<Kind> kind = FindStage(names[i]);
    if (!kind) {
      return absl::InvalidArgumentError(
          absl::StrCat(kStages, " names \"", names[i], "\", which is no stage"));
    }
    const EpilogueStage stage = {*kind, static_cast<float>(a[i]), static_cast<float>(b[i])};
    RETURN_IF_ERROR(CheckParameters(stage));
    epilogue.push_back(stage);
  }
  return epilogue;
}

absl::Status CheckNumbersType(const EpilogueStage& stage, VarType::Type dtype) {
  const bool takes_codes = stage.kind == Kind::kAddChannel;
  if (dtype == VarType::FP32 || (takes_codes && dtype == VarType::INT32)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the operand of ", std::string(StageName(stage.kind)), " is ",
                   VarType::Type_Name(dtype), "; want FP32", takes_codes ? " or INT32" : ""));
}

void SetEpilogue(const Epilogue& epilogue, OpDesc* op) {
  std::vector<std::string> names;
  std::vector<float> a;
  std::vector<float> b;
  for (const EpilogueStage& stage : epilogue) {
    names.emplace_back(StageName(stage.kind));
    a.push_back(stage.a);
    b.push_back(stage.b);
  }
  SetAttr(MakeStringsAttr(kStages, names), op);
  SetAttr(MakeFloatsAttr(kA, a), op);
  SetAttr(MakeFloatsAttr(kB, b), op);
}

}  // namespace fixpoint
