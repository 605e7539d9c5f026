#include "runtime/data/data_source.h"

#include <utility>

#include "proto/base/status_macros.h"
#include "runtime/data/image_samples.h"
#include "runtime/data/image_set.h"

namespace fixpoint {

absl::StatusOr<DataSource> ParseDataSource(absl::string_view text) {
  DataSource source;
  ASSIGN_OR_RETURN(source.images, ParseDataSetName(text));
  return source;
}

absl::StatusOr<std::unique_ptr<SampleSet>> OpenSamples(const DataSource& source, DataPart part) {
  ASSIGN_OR_RETURN(ImageSet images, part == DataPart::kTraining ? LoadTrainingSet(source.images)
                                                                : LoadTestSet(source.images));
  ASSIGN_OR_RETURN(ImageSamples samples, ImageSamples::Create(std::move(images)));
  return std::make_unique<ImageSamples>(std::move(samples));
}

}  // namespace fixpoint
