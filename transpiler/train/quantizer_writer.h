// Writes the sites of a plan into a program, one after the other, in one pass over them.

#ifndef FIXPOINT_TRANSPILER_TRAIN_QUANTIZER_WRITER_H_
#define FIXPOINT_TRANSPILER_TRAIN_QUANTIZER_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/quantizer.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/plan/integer_bias.h"
#include "transpiler/plan/plan.h"
#include "transpiler/plan/requantized_sums.h"
#include "transpiler/plan/site_facts.h"
#include "transpiler/train/state_writer.h"
#include "transpiler/train/train_context.h"

namespace fixpoint {

class QuantizerWriter {
 public:
  // REQUIRES: both outlive the writer.
  QuantizerWriter(Program* program, TrainContext* context, absl::string_view pass);

  // Writes every site of the plan, and marks what was changed.
  absl::Status WriteAll();

 private:
  // Where a site's ops go: each after the one before it.
  struct Place {
    const Block* block;
    const Op* after;   // null: at the head of the block
    const Op* before;  // if not null, before this op instead
    int role;          // op_role of what is inserted
  };
  // A site with the quantizer, recipe and variables that write it.
  struct Writing {
    const Site* site;
    const Quantizer* quantizer;
    const QuantizerRecipe* recipe;
    Place place;
    bool is_test;
  };

  // Finds them, and notes those that are not.
  void FindAllRequantized();
  // Writes a site, or the whole group that shares its scale, unless it is written.
  absl::Status WriteOnce(const Site& site);
  absl::Status Write(const Site& site);
  // Quantizes what the value's sums become by a multiplier and a shift, with the scale that an
  // observer finds.
  absl::Status WriteRequantized(const Site& site, const RequantizedSums& sums);
  // Rounds a bias to the steps of its sums, whose operands are already written.
  absl::Status WriteBias(const Site& site);
  absl::Status WriteSharedScale(const std::vector<const Site*>& sites);
  // Quantizes the site's value, or what `numbers` has of it, with a scale that other ops have
  // found.
  absl::Status WriteWithScale(const Site& site, const Place& place, const std::string& scale,
                              const std::string& numbers = "");
  // Inserts an observer of the site's value; returns the name of its scale.
  absl::StatusOr<std::string> Observe(const Site& site, const Place& place);
  // REQUIRES: the plan is validated.
  Writing Begin(const Site& site, const Place& place, bool observer = false) const;
  QuantSpec StoredSpecOf(const Site& site) const;
  Place PlaceOf(const Site& site) const;
  // Inserts the quantizer's ops that reduce the site's value to one number; returns that number's
  // variable or, for most quantizers, the value's own.
  absl::StatusOr<std::string> Summarize(Writing& writing);

  // The quantize op without its state; `numbers` becomes the name of its output.
  absl::StatusOr<OpBuilder> BeginQuantizeOp(const Writing& writing, std::string* numbers);
  // Inserts it, and the dequantize op if the recipe has one, and points the readers at the result.
  absl::Status FinishQuantizeOp(Writing& writing, OpBuilder quantize, const std::string& numbers);

  // Inserts the ops that the quantizer's formula has beside the quantize op: those that give states
  // their first values, and those that compute what the op reads, which is named in its slots.
  absl::Status WriteFormula(Writing& writing, const QuantizerForward& forward, OpBuilder& quantize);
  // Error (kInvalidArgument): the quantize op contradicts what it reads, or gives no value like the
  // site's.
  absl::Status CheckFormula(const Writing& writing, const OpDesc& quantize) const;
  absl::Status WriteInitialValues(Writing& writing);
  // Error (kFailedPrecondition): the range is computed from what only training finds.
  absl::Status CheckIsKnownWithoutTraining(const Writing& writing) const;
  // Inserts ops of the quantizer, whose names stand for what site_names has.
  absl::Status WriteOps(Writing& writing, std::vector<OpDesc> ops, int role,
                        absl::flat_hash_map<std::string, std::string>* names);

  // Declares the state of a recipe and names it in the op's slots.
  absl::Status AddState(Writing& writing, OpBuilder& quantize);
  // The variable that the readers read by schedule instead of the quantized value; returns its
  // name.
  absl::StatusOr<std::string> Schedule(Writing& writing, const std::string& quantized);
  absl::StatusOr<OpBuilder> SelectFrom(int64_t step, const std::string& out);
  absl::StatusOr<std::string> StepCounter();
  // Declares a scale that is computed anew at every step: `count` numbers.
  absl::StatusOr<std::string> DeclareScale(const Block& block, const std::string& base,
                                           int64_t count);
  // Declares a variable like `like`, whose name begins with the site's.
  absl::StatusOr<std::string> DeclareLike(const Writing& writing, const Variable& like,
                                          absl::string_view suffix);
  // For the value's codes or its quantized floats.
  absl::StatusOr<std::string> DeclareLike(const Writing& writing, absl::string_view suffix) {
    return DeclareLike(writing, writing.site->value->variable(), suffix);
  }
  void Insert(Writing& writing, OpBuilder& op);
  // Makes the site's readers, and the gradient ops that repeat them, read the variable.
  absl::Status Rewire(const Writing& writing, const std::string& name);
  // Notes that an argument is about to be redirected.
  void NoteRewired(const Argument& argument, const Site& site);
  // Adds a name that a block reads to the lists of the ops that run the block.
  void Capture(const Argument& reader, const Block& declaring, const std::string& name);
  void Mark();

  Program& program_;
  const QuantizerTable& quantizers_;
  TrainContext& context_;
  const std::string pass_;
  Rewriter rewriter_;
  StateWriter state_;
  const fixpoint::Schedule schedule_;
  OpTypes types_;
  const SiteFacts facts_;
  // The sites that share a scale, by its name.
  absl::btree_map<std::string, std::vector<const Site*>> shared_;
  absl::flat_hash_set<const Site*> written_;
  // Those whose codes the target makes of sums by a multiplier and a shift.
  absl::flat_hash_map<const Site*, RequantizedSums> requantized_;
  // The variable of a site's scale.
  absl::flat_hash_map<const Site*, std::string> scales_;
  // The last op that was inserted after an op, or at the head of a block.
  absl::flat_hash_map<const Op*, const Op*> last_after_;
  absl::flat_hash_map<const Block*, const Op*> last_at_head_;
  std::string step_counter_;
  absl::flat_hash_set<std::pair<const Op*, std::string>> captured_;
  // The contents of the marks, by op in the order of the edits.
  struct Change {
    std::vector<std::string> marks;
    bool has_weight = false;
    int activation_bits = 0;
  };
  Change& ChangeOf(const Op& op);
  // Sets an attribute that an undo removes again.
  void SetAttrMarked(const Op& op, OpDesc::Attr attr, Change& change);
  std::vector<const Op*> changed_;
  absl::flat_hash_map<const Op*, Change> changes_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_QUANTIZER_WRITER_H_
