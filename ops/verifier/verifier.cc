#include "ops/verifier.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/era.h"
#include "ops/op_schema.h"
#include "ops/verifier/checks.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

// Appends the paragraph of one finding; `line` is that of its op.
void AppendText(const Program& program, const Finding& finding, int op_index,
                absl::string_view line, std::string* text) {
  absl::StrAppend(text, finding.severity == Severity::kError ? "error: " : "warning: ");
  if (!program.name().empty()) absl::StrAppend(text, program.name(), ": ");
  absl::StrAppend(text, "block ", finding.block->index());
  if (finding.op != nullptr) {
    absl::StrAppend(text, ", op ", op_index, " (", Shortened(finding.op->type()), ")");
  }
  absl::StrAppend(text, ": ", finding.message, " [", CodeName(finding.code), "]\n");
  if (finding.op != nullptr) absl::StrAppend(text, "    ", line, "\n");
}

}  // namespace

absl::string_view CodeName(FindingCode code) {
  switch (code) {
    case FindingCode::kDuplicateVariable:
      return "duplicate_variable";
    case FindingCode::kVariableType:
      return "variable_type";
    case FindingCode::kBlockStructure:
      return "block_structure";
    case FindingCode::kUnknownOp:
      return "unknown_op";
    case FindingCode::kMissingSlot:
      return "missing_slot";
    case FindingCode::kUnknownSlot:
      return "unknown_slot";
    case FindingCode::kArity:
      return "arity";
    case FindingCode::kMissingAttr:
      return "missing_attr";
    case FindingCode::kAttrType:
      return "attr_type";
    case FindingCode::kDuplicateAttr:
      return "duplicate_attr";
    case FindingCode::kDanglingName:
      return "dangling_name";
    case FindingCode::kDtype:
      return "dtype";
    case FindingCode::kShape:
      return "shape";
    case FindingCode::kUnreachedRead:
      return "unreached_read";
    case FindingCode::kGradientMismatch:
      return "gradient_mismatch";
    case FindingCode::kRole:
      return "role";
    case FindingCode::kOpRoleVar:
      return "op_role_var";
    case FindingCode::kOptimizerUpdate:
      return "optimizer_update";
    case FindingCode::kNestedQuantize:
      return "nested_quantize";
    case FindingCode::kStaleQuantizedRead:
      return "stale_quantized_read";
    case FindingCode::kQuantizerState:
      return "quantizer_state";
    case FindingCode::kUninitialized:
      return "uninitialized";
    case FindingCode::kInitializedTwice:
      return "initialized_twice";
  }
  return "";
}

std::string Shortened(absl::string_view name) {
  constexpr size_t kLongest = 200;
  return name.size() <= kLongest ? std::string(name)
                                 : absl::StrCat(name.substr(0, kLongest), "...");
}

std::string FindingList::Place(const Op& op) {
  auto found = indexes_.find(&op);
  if (found == indexes_.end()) {
    int index = 0;
    for (const Op& other : op.block().ops()) indexes_.emplace(&other, index++);
    found = indexes_.find(&op);
  }
  return absl::StrCat("block ", op.block().index(), ", op ", found->second, " (",
                      Shortened(op.type()), ")");
}

std::vector<Finding> FindingList::TakeInProgramOrder() {
  std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
    if (a.block != b.block) return a.block->index() < b.block->index();
    if (a.op == nullptr || b.op == nullptr) return a.op == nullptr && b.op != nullptr;
    return a.op->IsBefore(*b.op);
  });
  return std::move(findings_);
}

std::vector<Finding> Verify(const Program& program, const VerifyOptions& options) {
  FindingList findings;
  const Era era = EraOf(program);
  NameCheck names(program, &findings);
  ReadCheck reads(program, &findings);
  GradientCheck gradients(era, &findings);
  std::vector<KnownOp> quantization_ops;
  std::vector<std::optional<const OpSchema*>> schemas(program.type_count());
  for (int b = 0; b < program.block_count(); ++b) {
    const Block& block = program.block(b);
    if (!options.edited_only) CheckBlock(block, &findings);
    for (const Op& op : block.ops()) {
      std::optional<const OpSchema*>& schema = schemas[op.type_id()];
      if (!schema.has_value()) schema = FindOpSchema(op.type());
      const KnownOp known{&op, *schema};
      if (known.schema != nullptr) gradients.Add(known);
      if (options.edited_only && !op.inserted() && !op.changed()) continue;
      CheckSubBlocks(op, &findings);
      names.Check(op);
      reads.Check(op);
      if (known.schema == nullptr) {
        findings.Warning(FindingCode::kUnknownOp, op,
                         "the op type is not known; the op is carried as it is");
        continue;
      }
      if (CheckForm(known, era, &findings)) CheckTypes(known, era, &findings);
      CheckRoles(program, known, &findings);
      if (known.schema->quant_op() != QuantOp::kNone) quantization_ops.push_back(known);
    }
  }
  gradients.Finish();
  CheckQuantization(quantization_ops, era, &findings);
  if (options.startup != nullptr) CheckStartup(program, *options.startup, &findings);
  return findings.TakeInProgramOrder();
}

std::string FindingLine(const Op& op) {
  constexpr size_t kLongest = 2000;
  ProgramTextOptions options;
  options.debug_attributes = false;
  std::string line = PrintOp(op.desc(), options);
  if (line.size() > kLongest) line.replace(kLongest, std::string::npos, " ...");
  return line;
}

std::string FindingsText(const Program& program, absl::Span<const Finding> findings) {
  std::string text;
  // Ops are counted on from finding to finding, which are in the order of the program.
  const Op* counted = nullptr;
  int index = 0;
  const Op* printed = nullptr;
  std::string line;
  for (const Finding& finding : findings) {
    if (finding.op != nullptr) {
      if (finding.op != printed) line = FindingLine(*finding.op);
      printed = finding.op;
      if (counted == nullptr || &counted->block() != finding.block) {
        counted = finding.block->first_op();
        index = 0;
      }
      for (; counted != finding.op; counted = counted->next()) ++index;
    }
    AppendText(program, finding, index, line, &text);
  }
  return text;
}

bool HasErrors(absl::Span<const Finding> findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::kError; });
}

}  // namespace fixpoint
