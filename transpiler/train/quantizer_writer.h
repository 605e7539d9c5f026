// Writes the sites of a plan into a program, one after the other, in one pass over them.

#ifndef FIXPOINT_TRANSPILER_TRAIN_QUANTIZER_WRITER_H_
#define FIXPOINT_TRANSPILER_TRAIN_QUANTIZER_WRITER_H_

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/op_types.h"
#include "ops/quantizer.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/plan/plan.h"
#include "transpiler/plan/requantized_sums.h"
#include "transpiler/plan/schedule.h"
#include "transpiler/plan/site_facts.h"
#include "transpiler/train/formula_writer.h"
#include "transpiler/train/rewired_readers.h"
#include "transpiler/train/site_ops.h"
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
  // Finds the sites whose codes the target makes by a multiplier and a shift, and notes how many
  // values that the program computes are not among them.
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
  absl::Status WriteWithScale(const Site& site, const SitePlace& place, const std::string& scale,
                              const std::string& numbers = "");
  // Inserts an observer of the site's value; returns the name of its scale.
  absl::StatusOr<std::string> Observe(const Site& site, const SitePlace& place);
  // REQUIRES: the plan is validated.
  SiteWriting Begin(const Site& site, const SitePlace& place, bool observer = false) const;
  QuantSpec StoredSpecOf(const Site& site) const;
  // Inserts the quantizer's ops that reduce the site's value to one number; returns that number's
  // variable or, for most quantizers, the value's own.
  absl::StatusOr<std::string> Summarize(SiteWriting& writing);

  // The quantize op without its state; `numbers` becomes the name of its output.
  absl::StatusOr<OpBuilder> BeginQuantizeOp(const SiteWriting& writing, std::string* numbers);
  // Inserts it, and the dequantize op if the recipe has one, and points the readers at the result.
  absl::Status FinishQuantizeOp(SiteWriting& writing, OpBuilder quantize,
                                const std::string& numbers);

  // Declares the state of a recipe and names it in the op's slots.
  absl::Status AddState(SiteWriting& writing, OpBuilder& quantize);
  // The variable that the readers read by schedule instead of the quantized value; returns its
  // name.
  absl::StatusOr<std::string> Schedule(SiteWriting& writing, const std::string& quantized);

  Program& program_;
  const QuantizerTable& quantizers_;
  TrainContext& context_;
  Rewriter rewriter_;
  StateWriter state_;
  SiteOps ops_;
  FormulaWriter formulas_;
  RewiredReaders readers_;
  const fixpoint::Schedule schedule_;
  OpTypes types_;
  const SiteFacts facts_;
  // The sites that share a scale, by its name.
  absl::btree_map<std::string, std::vector<const Site*>> shared_;
  absl::flat_hash_set<const Site*> written_;
  absl::flat_hash_map<const Site*, RequantizedSums> requantized_;
  // The variable of a site's scale.
  absl::flat_hash_map<const Site*, std::string> scales_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_QUANTIZER_WRITER_H_
