// The parts of the verifier; verifier.cc runs them.

#ifndef FIXPOINT_OPS_VERIFIER_CHECKS_H_
#define FIXPOINT_OPS_VERIFIER_CHECKS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ops/era.h"
#include "ops/op_schema.h"
#include "ops/verifier.h"
#include "proto/program/program.h"

namespace fixpoint {

// How findings about other ops write a name, which many of them may repeat.
std::string Shortened(absl::string_view name);

// Where checks record their findings.
class FindingList {
 public:
  void Error(FindingCode code, const Op& op, std::string message) {
    findings_.push_back({Severity::kError, code, &op.block(), &op, std::move(message)});
  }
  void Error(FindingCode code, const Block& block, std::string message) {
    findings_.push_back({Severity::kError, code, &block, nullptr, std::move(message)});
  }
  void Warning(FindingCode code, const Op& op, std::string message) {
    findings_.push_back({Severity::kWarning, code, &op.block(), &op, std::move(message)});
  }
  void Warning(FindingCode code, const Block& block, std::string message) {
    findings_.push_back({Severity::kWarning, code, &block, nullptr, std::move(message)});
  }

  // "block 0, op 17 (conv2d)", as Describe writes it. The first call counts the ops of the block.
  std::string Place(const Op& op);

  std::vector<Finding> TakeInProgramOrder();

 private:
  std::vector<Finding> findings_;
  absl::flat_hash_map<const Op*, int> indexes_;  // for ops of blocks that were counted
};

// An op with its schema, null if there is none.
struct KnownOp {
  const Op* op;
  const OpSchema* schema;
};

// 1, 2, 3.
void CheckBlock(const Block& block, FindingList* findings);
// 3, for an op that runs blocks.
void CheckSubBlocks(const Op& op, FindingList* findings);
// 5, 6. Returns whether further checks make sense.
bool CheckForm(const KnownOp& known, Era era, FindingList* findings);
// 7.
class NameCheck {
 public:
  NameCheck(const Program& program, FindingList* findings);
  void Check(const Op& op);

 private:
  // "; did you mean "w_3.w_0"?", or "".
  std::string Suggestion(const Op& op, absl::string_view name);

  const Program& program_;
  FindingList* findings_;
  int suggestions_left_;
};
// 8. REQUIRES: CheckForm found nothing wrong.
void CheckTypes(const KnownOp& known, Era era, FindingList* findings);
// 9.
class ReadCheck {
 public:
  ReadCheck(const Program& program, FindingList* findings);
  void Check(const Op& op);

 private:
  void CheckAttributes(const Op& op);
  bool HasFeedOps();
  bool MayBeFed(const Variable& variable, const Op& first_writer);
  // Whether an op reads a variable, or what quantizers make of it.
  bool ReadsOrQuantized(const Op& op, const Variable& variable);

  const Program& program_;
  std::optional<bool> has_feed_ops_;
  FindingList* findings_;
  int64_t quantized_arguments_left_;
  absl::flat_hash_map<const Variable*, bool> may_be_fed_;
};
// 10. Compares once all ops are known; costs next to nothing for a program without gradient ops.
class GradientCheck {
 public:
  GradientCheck(Era era, FindingList* findings);
  ~GradientCheck();
  // REQUIRES: the op has a schema.
  void Add(const KnownOp& known);
  void Finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};
// 11, 12, 13.
void CheckRoles(const Program& program, const KnownOp& known, FindingList* findings);
// 14, 15, 16. For all ops that quantize, dequantize or observe.
void CheckQuantization(const std::vector<KnownOp>& ops, Era era, FindingList* findings);
// 17.
void CheckStartup(const Program& program, const Program& startup, FindingList* findings);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_VERIFIER_CHECKS_H_
