// Where samples come from, as a command line names it: a set of images (runtime/data/data_set.h).

#ifndef FIXPOINT_RUNTIME_DATA_DATA_SOURCE_H_
#define FIXPOINT_RUNTIME_DATA_DATA_SOURCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/data/data_set.h"
#include "runtime/data/sample_set.h"

namespace fixpoint {

struct DataSource {
  DataSetName images;
};

// Error (kInvalidArgument): the text names none.
absl::StatusOr<DataSource> ParseDataSource(absl::string_view text);

// Sets have samples to train on, and others to measure on.
enum class DataPart { kTraining, kTest };

// Errors: those of LoadTrainingSet and LoadTestSet.
absl::StatusOr<std::unique_ptr<SampleSet>> OpenSamples(const DataSource& source, DataPart part);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_DATA_SOURCE_H_
