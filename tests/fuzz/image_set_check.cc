#include "tests/fuzz/image_set_check.h"

#include <glog/logging.h>

#include "runtime/data/batcher.h"
#include "tests/fuzz/input_error.h"

namespace fixpoint {

void CheckImageSet(const absl::StatusOr<ImageSet>& set) {
  if (!set.ok()) return CheckIsInputError(set.status());
  CHECK_EQ(set->images.dims().size(), 4u);
  CHECK_EQ(set->images.dims()[0], set->labels.size());
  if (set->labels.size() == 0) return;
  BatchOptions options;
  options.batch_size = 2;
  absl::StatusOr<Batcher> batcher = Batcher::Create(&*set, options);
  CHECK(batcher.ok()) << batcher.status();
  const absl::StatusOr<Batch> batch = batcher->Next();
  CHECK(batch.ok()) << batch.status();
}

}  // namespace fixpoint
