#include "transpiler/pipeline/edit_verifier.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "proto/wire/edit_log.pb.h"

namespace fixpoint {

absl::Status CheckVerifies(const Program& program) {
  constexpr int kMostLines = 5;
  int errors = 0;
  std::string text;
  for (const Finding& finding : Verify(program)) {
    if (finding.severity != Severity::kError || ++errors > kMostLines) continue;
    absl::StrAppend(&text, text.empty() ? "" : "\n", program.name(),
                    program.name().empty() ? "" : ": ",
                    finding.op != nullptr ? Describe(*finding.op)
                                          : absl::StrCat("block ", finding.block->index()),
                    ": ", finding.message);
  }
  if (errors == 0) return absl::OkStatus();
  if (errors > kMostLines) absl::StrAppend(&text, "\nand ", errors - kMostLines, " more");
  return absl::InvalidArgumentError(text);
}

EditVerifier::Kind EditVerifier::KindOf(const Finding& finding) {
  // A quantizer now reads what nothing writes, wherever that is.
  if (finding.code == FindingCode::kUnreachedRead) return {0, ""};
  return {finding.block->index(), finding.op->type()};
}

const EditVerifier::KindCounts& EditVerifier::Before(const Program& program) {
  if (before_.has_value()) return *before_;
  before_.emplace();
  EditLog log;
  program.MakeEditLog(&log);
  absl::StatusOr<Program> original = Program::Create(program.Proto());
  if (!original.ok() || !original->AdoptEditLog(log).ok()) return *before_;
  original->RevertEdits();
  for (const Finding& finding : Verify(*original)) {
    if (finding.severity == Severity::kError && finding.op != nullptr) {
      ++(*before_)[KindOf(finding)];
    }
  }
  return *before_;
}

std::vector<Finding> EditVerifier::NewErrors(const Program& program) {
  VerifyOptions options;
  options.edited_only = true;
  std::vector<Finding> findings = Verify(program, options);
  KindCounts left;
  const auto is_not_ours = [&](const Finding& finding) {
    if (finding.severity != Severity::kError || finding.op == nullptr) return true;
    if (finding.op->inserted() && finding.code != FindingCode::kUnreachedRead) return false;
    if (left.empty()) left = Before(program);
    return left[KindOf(finding)]-- > 0;
  };
  findings.erase(std::remove_if(findings.begin(), findings.end(), is_not_ours), findings.end());
  return findings;
}

}  // namespace fixpoint
