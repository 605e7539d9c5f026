// Batches of a set of samples, epoch after epoch. What a batch holds depends on the seed and its
// place alone: a run that is resumed at a position sees what the uninterrupted one sees.

#ifndef FIXPOINT_RUNTIME_DATA_BATCHER_H_
#define FIXPOINT_RUNTIME_DATA_BATCHER_H_

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/data/augmentation.h"
#include "runtime/data/sample_set.h"
#include "runtime/tensor.h"

namespace fixpoint {

struct BatchOptions {
  int64_t batch_size = 1;
  // Whether each epoch has an order of its own, from `seed` and the epoch; otherwise it is the
  // set's, as for measurements.
  bool shuffle = true;
  uint64_t seed = 0;
  // Whether the rest of an epoch after its last whole batch is dropped instead of being a smaller
  // batch.
  bool drop_last = false;
  // What is done with the images of each batch.
  Augmentation augmentation;
  // Whether floats that are not finite are an error.
  bool check_finite = false;
};

struct Batch {
  std::vector<int64_t> samples;  // their indices in the set
  std::vector<Tensor> values;    // [samples, ...], one for each form
};

// The position of a run: the next batch, both counted from 0.
struct BatchPosition {
  int64_t epoch = 0;
  int64_t batch = 0;
};
inline bool operator==(const BatchPosition& a, const BatchPosition& b) {
  return a.epoch == b.epoch && a.batch == b.batch;
}
inline bool operator<(const BatchPosition& a, const BatchPosition& b) {
  return std::tie(a.epoch, a.batch) < std::tie(b.epoch, b.batch);
}

class Batcher {
 public:
  // Batches with these forms of fields, or with all fields as they are in the set, which must
  // outlive the batcher. kInvalidArgument for a set without samples, a batch size under 1, a form
  // with another number of elements than its field, images that are to be augmented and are not
  // there, and if no batch is left because the last is dropped.
  static absl::StatusOr<Batcher> Create(const SampleSet* set, std::vector<FieldForm> forms,
                                        const BatchOptions& options);
  static absl::StatusOr<Batcher> Create(const SampleSet* set, const BatchOptions& options);

  int64_t BatchesPerEpoch() const;

  BatchPosition Position() const { return position_; }

  // Continues at `position`. kInvalidArgument if an epoch has no such batch.
  absl::Status Seek(BatchPosition position);

  // From now on nothing is prepared for batches from `end` on, as nobody will ask for them.
  void EndAt(BatchPosition end) { end_ = end; }
  // Whether the next batch is one of those.
  bool IsAtEnd() const { return end_ && !(position_ < *end_); }

  // The next batch; after the last one of an epoch, the first of the next epoch. An epoch takes
  // each sample once. Errors: those of SampleSet::Read; NotFiniteError (runtime/backend.h), with
  // the name of the sample.
  absl::StatusOr<Batch> Next();

 private:
  Batcher(const SampleSet* set, std::vector<FieldForm> forms, const BatchOptions& options)
      : set_(set), forms_(std::move(forms)), options_(options) {}

  // The error for the first sample that is not finite, of those that are read.
  absl::Status CheckFiniteSamples(absl::Span<const int64_t> samples) const;

  // Brings order_ to the epoch of position_.
  void OrderEpoch();
  // The samples of the batch at position_.
  std::vector<int64_t> NextSamples();

  const SampleSet* set_;
  std::vector<FieldForm> forms_;
  BatchOptions options_;
  BatchPosition position_;
  std::optional<BatchPosition> end_;
  std::vector<int64_t> order_;  // The samples of ordered_epoch_ one after another.
  int64_t ordered_epoch_ = -1;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_BATCHER_H_
