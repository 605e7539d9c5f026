// Batches of a data set, epoch after epoch. What a batch holds depends on the seed and its place
// alone: a run that is resumed at a position sees what the uninterrupted one sees.

#ifndef FIXPOINT_RUNTIME_DATA_BATCHER_H_
#define FIXPOINT_RUNTIME_DATA_BATCHER_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/image_set.h"
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
  // The extents of an image in a batch, [784] for programs that take rows; empty: the set's,
  // [C,H,W].
  std::vector<int64_t> image_dims;
  // A pixel of 0 to 255 becomes pixel * scale + offset: by default 0 to 1. The reference's readers
  // do so with CIFAR-10, and have MNIST from -1 to 1: scale 2 / 255, offset -1.
  float scale = 1.0F / 255;
  float offset = 0;
};

struct Batch {
  Tensor images;  // FP32 [n, ...], as BatchOptions::image_dims say.
  Tensor labels;  // INT64 [n,1], as the reference's cross_entropy takes them.
};

// The position of a run: the next batch, both counted from 0.
struct BatchPosition {
  int64_t epoch = 0;
  int64_t batch = 0;
};

class Batcher {
 public:
  // `set` must outlive the batcher. kInvalidArgument for a set that does not meet ImageSet's
  // requirements or has no images, a batch size under 1, extents with another number of pixels, a
  // scale or an offset that is not finite, and if no batch is left because the last is dropped.
  static absl::StatusOr<Batcher> Create(const ImageSet* set, const BatchOptions& options);

  int64_t BatchesPerEpoch() const;

  BatchPosition Position() const { return position_; }

  // Continues at `position`. kInvalidArgument if an epoch has no such batch.
  absl::Status Seek(BatchPosition position);

  // The next batch; after the last one of an epoch, the first of the next epoch. An epoch takes
  // each image once. kFailedPrecondition where the system has no memory.
  absl::StatusOr<Batch> Next();

 private:
  Batcher(const ImageSet* set, const BatchOptions& options);

  // Brings order_ to the epoch of position_.
  void OrderEpoch();

  const ImageSet* set_;
  BatchOptions options_;
  std::array<float, 256> values_;  // Values by pixel.
  BatchPosition position_;
  std::vector<int64_t> order_;  // The images of ordered_epoch_ one after another.
  int64_t ordered_epoch_ = -1;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_BATCHER_H_
