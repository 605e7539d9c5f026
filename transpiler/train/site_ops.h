// The ops and variables of sites: where they go in a program, and what they are named.

#ifndef FIXPOINT_TRANSPILER_TRAIN_SITE_OPS_H_
#define FIXPOINT_TRANSPILER_TRAIN_SITE_OPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/plan/plan.h"
#include "transpiler/train/state_writer.h"
#include "transpiler/train/train_context.h"

namespace fixpoint {

// Where a site's ops go: each after the one before it.
struct SitePlace {
  const Block* block;
  const Op* after;   // null: at the head of the block
  const Op* before;  // if not null, before this op instead
  int role;          // op_role of what is inserted
};

// A site with the quantizer and the recipe that write it.
struct SiteWriting {
  const Site* site;
  const Quantizer* quantizer;
  const QuantizerRecipe* recipe;
  SitePlace place;
  bool is_test;
};

class SiteOps {
 public:
  // REQUIRES: all outlive the object.
  SiteOps(Program* program, const TrainContext* context, absl::string_view pass, StateWriter* state,
          Rewriter* rewriter)
      : program_(*program), context_(*context), pass_(pass), state_(*state), rewriter_(*rewriter) {}

  SitePlace PlaceOf(const Site& site) const;
  void Insert(SiteWriting& writing, OpBuilder& op);
  // Inserts ops of the quantizer. `names` has the variables of names that they read, and gets those
  // of the names that they write. Errors: those of OpTemplates::Fill.
  absl::Status InsertAll(SiteWriting& writing, std::vector<OpDesc> ops, int role,
                         absl::flat_hash_map<std::string, std::string>* names);

  // An op that selects Before in steps before `step`, and X from it on, to `out`.
  absl::StatusOr<OpBuilder> SelectFrom(int64_t step, const std::string& out);
  // The variable that counts steps; declared, and counted, when it is first asked for.
  absl::StatusOr<std::string> StepCounter();

  // Declares a scale that is computed anew at every step: `count` numbers.
  absl::StatusOr<std::string> DeclareScale(const Block& block, const std::string& base,
                                           int64_t count);
  // Declares a variable like `like`, whose name begins with the site's.
  absl::StatusOr<std::string> DeclareLike(const SiteWriting& writing, const Variable& like,
                                          absl::string_view suffix);
  // For the value's codes or its quantized floats.
  absl::StatusOr<std::string> DeclareLike(const SiteWriting& writing, absl::string_view suffix) {
    return DeclareLike(writing, writing.site->value->variable(), suffix);
  }

 private:
  Program& program_;
  const TrainContext& context_;
  const std::string pass_;
  StateWriter& state_;
  Rewriter& rewriter_;
  // The last op that was inserted after an op, or at the head of a block.
  absl::flat_hash_map<const Op*, const Op*> last_after_;
  absl::flat_hash_map<const Block*, const Op*> last_at_head_;
  std::string step_counter_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_SITE_OPS_H_
