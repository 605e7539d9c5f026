// A pass: one step of a rewrite. A pass decides nothing that a plan, configuration or target
// decides, edits only through a Rewriter, and leaves a program that verifies.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_PASS_H_
#define FIXPOINT_TRANSPILER_PIPELINE_PASS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/quantizer_table.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// What the passes of one pipeline share. Each stage has a context of its own: TrainContext
// (train_context.h), FreezeContext (freeze_context.h), LowerContext (lower_context.h).
class PassContext {
 public:
  // REQUIRES: the table outlives this object.
  explicit PassContext(const QuantizerTable& quantizers) : quantizers(quantizers) {}
  virtual ~PassContext() = default;

  // A second program, which the passes edit along; null where there is none.
  virtual Program* startup_program() { return nullptr; }

  const QuantizerTable& quantizers;
  // Notes to the user, a line each.
  std::vector<std::string> notes;
};

class Pass {
 public:
  virtual ~Pass() = default;

  // A verb: "insert_quantizers".
  virtual absl::string_view name() const = 0;
  // A sentence for the generated list.
  virtual absl::string_view doc() const = 0;
  // What must hold before, and what holds afterwards: names of facts, whose order the pipeline
  // checks before anything runs.
  virtual std::vector<std::string> Requires() const { return {}; }
  virtual std::vector<std::string> Establishes() const { return {}; }
  // What held before and no longer holds.
  virtual std::vector<std::string> Consumes() const { return {}; }
  // What no pass before this one may have established.
  virtual std::vector<std::string> ComesBefore() const { return {}; }

  // Whether the invariants (invariants.h) restrict the edits of the pass to what the plan names. A
  // pass that rewrites a program in other ways returns false, and is itself responsible for its
  // edits.
  virtual bool IsHeldToPlan() const { return true; }

  virtual absl::Status Run(Program& program, PassContext& context) const = 0;
};

// The error of a pass that is run in the pipeline of another stage.
absl::Status WrongStage(absl::string_view pass);

// A pass of one stage, which is given the context of that stage. Error of Run
// (kFailedPrecondition): the pipeline is of another stage.
template <typename Context>
class StagePass : public Pass {
 public:
  absl::Status Run(Program& program, PassContext& context) const final {
    auto* const stage = dynamic_cast<Context*>(&context);
    if (stage == nullptr) return WrongStage(name());
    return RunIn(program, *stage);
  }

 protected:
  virtual absl::Status RunIn(Program& program, Context& context) const = 0;
};

// The passes that a pipeline can name: the built-in ones of its stage (train/train_passes.h,
// freeze_passes.h, lower_passes.h), and a user's own.
class PassTable {
 public:
  // REQUIRES: no two passes have one name.
  explicit PassTable(std::vector<std::unique_ptr<Pass>> passes) : passes_(std::move(passes)) {}
  PassTable(PassTable&&) = default;
  PassTable& operator=(PassTable&&) = default;

  // Error (kInvalidArgument): the name is taken.
  absl::Status Add(std::unique_ptr<Pass> pass);
  // Null if there is none of that name.
  const Pass* Find(absl::string_view name) const;
  absl::Span<const std::unique_ptr<Pass>> all() const { return passes_; }

 private:
  std::vector<std::unique_ptr<Pass>> passes_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_PASS_H_
