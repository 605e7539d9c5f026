#include "tools/diff_json.h"

#include "absl/strings/string_view.h"

namespace fixpoint {
namespace {

absl::string_view ChangeName(Difference::Change change) {
  switch (change) {
    case Difference::Change::kRemoved:
      return "removed";
    case Difference::Change::kAdded:
      return "added";
    case Difference::Change::kChanged:
      return "changed";
  }
  return "";
}

absl::string_view SubjectName(Difference::Subject subject) {
  switch (subject) {
    case Difference::Subject::kProgram:
      return "program";
    case Difference::Subject::kBlock:
      return "block";
    case Difference::Subject::kVariable:
      return "variable";
    case Difference::Subject::kOp:
      return "op";
  }
  return "";
}

void WriteDifference(const Difference& difference, JsonWriter* json) {
  json->BeginObject();
  json->Key("block").Int(difference.block);
  json->Key("change").String(ChangeName(difference.change));
  if (difference.index_a >= 0) json->Key("index_a").Int(difference.index_a);
  if (difference.index_b >= 0) json->Key("index_b").Int(difference.index_b);
  json->Key("name").String(difference.name);
  json->Key("parts").BeginArray();
  for (const Difference::Part& part : difference.parts) {
    json->BeginObject();
    json->Key("after").String(part.after);
    json->Key("before").String(part.before);
    json->Key("what").String(part.what);
    json->EndObject();
  }
  json->EndArray();
  json->Key("subject").String(SubjectName(difference.subject));
  json->Key("text").String(difference.text);
  json->EndObject();
}

}  // namespace

void WriteDiff(const ProgramDiff& diff, JsonWriter* json) {
  json->Key("alike").Bool(diff.differences.empty());
  json->Key("differences").BeginArray();
  for (const Difference& difference : diff.differences) WriteDifference(difference, json);
  json->EndArray();
  json->Key("given_up_blocks").BeginArray();
  for (int block : diff.given_up_blocks) json->Int(block);
  json->EndArray();
}

}  // namespace fixpoint
