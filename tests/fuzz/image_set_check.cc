#include "tests/fuzz/image_set_check.h"

#include <glog/logging.h>

#include <utility>

#include "runtime/data/batcher.h"
#include "runtime/data/image_samples.h"
#include "tests/fuzz/input_error.h"

namespace fixpoint {

void CheckImageSet(absl::StatusOr<ImageSet> set) {
  if (!set.ok()) return CheckIsInputError(set.status());
  CHECK_EQ(set->images.dims().size(), 4u);
  CHECK_EQ(set->images.dims()[0], set->labels.size());
  if (set->labels.size() == 0) return;
  const absl::StatusOr<ImageSamples> samples = ImageSamples::Create(*std::move(set));
  CHECK(samples.ok()) << samples.status();
  BatchOptions options;
  options.batch_size = 2;
  absl::StatusOr<Batcher> batcher = Batcher::Create(&*samples, options);
  CHECK(batcher.ok()) << batcher.status();
  const absl::StatusOr<Batch> batch = batcher->Next();
  CHECK(batch.ok()) << batch.status();
}

}  // namespace fixpoint
