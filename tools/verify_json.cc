#include "tools/verify_json.h"

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

absl::flat_hash_map<const Op*, int> OpIndices(const Program& program) {
  absl::flat_hash_map<const Op*, int> indices;
  for (int i = 0; i < program.block_count(); ++i) {
    int index = 0;
    for (const Op& op : program.block(i).ops()) indices.emplace(&op, index++);
  }
  return indices;
}

}  // namespace

void WriteFindings(const Program& program, absl::Span<const Finding> findings, JsonWriter* json) {
  const absl::flat_hash_map<const Op*, int> index_of = OpIndices(program);
  const Op* printed = nullptr;
  std::string line;
  int64_t errors = 0;
  for (const Finding& finding : findings) errors += finding.severity == Severity::kError ? 1 : 0;
  json->Key("errors").Int(errors);
  json->Key("findings").BeginArray();
  for (const Finding& finding : findings) {
    json->BeginObject();
    json->Key("block").Int(finding.block->index());
    json->Key("code").String(CodeName(finding.code));
    json->Key("message").String(finding.message);
    if (finding.op != nullptr) {
      json->Key("op").Int(index_of.at(finding.op));
      json->Key("op_type").String(finding.op->type());
    }
    json->Key("severity").String(finding.severity == Severity::kError ? "error" : "warning");
    if (finding.op != nullptr) {
      if (finding.op != printed) line = FindingLine(*finding.op);
      printed = finding.op;
      json->Key("text").String(line);
    }
    json->EndObject();
  }
  json->EndArray();
  json->Key("warnings").Int(static_cast<int64_t>(findings.size()) - errors);
}

}  // namespace fixpoint
