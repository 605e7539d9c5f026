// Batches of a set of samples as a program takes them: which variable each field is fed to, and
// with which extents.

#ifndef FIXPOINT_RUNTIME_TRAINING_FED_BATCHES_H_
#define FIXPOINT_RUNTIME_TRAINING_FED_BATCHES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program/program_fwd.h"
#include "runtime/backend.h"
#include "runtime/data/batcher.h"
#include "runtime/data/sample_set.h"
#include "runtime/tensor.h"
#include "runtime/training/network_variables.h"

namespace fixpoint {

class FedBatches {
 public:
  // A field is fed to the variable that has its name; the fields "images" and "labels", as those of
  // ImageSamples, to the variables of images and of labels that `variables` names, if it does. One
  // for which there is no variable is not fed. Samples get the extents that the program declares,
  // if it declares them all; where it declares that of the batch too, as exporters do of an
  // example, and not need_check_feed, a field that is not images may have others, as many of them.
  // Integers become INT64 where the program declares that, and as labels. `set` outlives the
  // batches. Errors: those of Batcher::Create; kInvalidArgument, with the place of the field: a
  // field has other extents or another type than the program declares; a field is not fed, while
  // none is fed to a variable.
  static absl::StatusOr<FedBatches> Create(const Program& program, const SampleSet* set,
                                           const NetworkVariables& variables,
                                           const BatchOptions& options);

  Batcher& batcher() { return batcher_; }
  const Batcher& batcher() const { return batcher_; }

  // What is fed with a batch of the batcher. It points into the batch and into this.
  std::vector<Feed> FeedsOf(const Batch& batch) const;

  // The labels of a batch, whether they are fed or not: INT64, one for each row. Null if the set
  // has none.
  const Tensor* LabelsOf(const Batch& batch) const;

 private:
  FedBatches(Batcher batcher, std::vector<std::string> variables, std::optional<size_t> labels)
      : batcher_(std::move(batcher)), variables_(std::move(variables)), labels_(labels) {}

  Batcher batcher_;
  std::vector<std::string> variables_;  // one for each value of a batch; "": it is not fed
  std::optional<size_t> labels_;        // which value of a batch they are
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TRAINING_FED_BATCHES_H_
