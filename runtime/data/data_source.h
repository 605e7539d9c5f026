// Where samples come from, as a command line names it:
//
//   digits:500, mnist:FOLDER, ...  a set of images (runtime/data/data_set.h)
//   images:PATH                    a folder of classes, a list, or a .textproto that describes them
//                                  (runtime/data/image_file_samples.h)
//   npz:FILE                       the arrays of a file, by the names of their fields
//   npy:NAME=FILE,NAME=FILE        arrays of a file each, likewise

#ifndef FIXPOINT_RUNTIME_DATA_DATA_SOURCE_H_
#define FIXPOINT_RUNTIME_DATA_DATA_SOURCE_H_

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/data/data_set.h"
#include "runtime/data/sample_set.h"

namespace fixpoint {

struct ImagesPath {
  std::string path;
};

struct NpzFile {
  std::string path;
};

struct NpyFiles {
  std::vector<std::pair<std::string, std::string>> names_and_paths;  // no name twice
};

using DataSource = std::variant<DataSetName, ImagesPath, NpzFile, NpyFiles>;

// Error (kInvalidArgument): the text names none.
absl::StatusOr<DataSource> ParseDataSource(absl::string_view text);

// Whether its samples are images with labels (runtime/data/image_samples.h).
bool IsOfImages(const DataSource& source);

// Whether it has a part to train on, and another one to measure on.
bool HasTestPart(const DataSource& source);

// The files that the command line names.
std::vector<std::string> FilesOf(const DataSource& source);

enum class DataPart { kTraining, kTest };

// Opens a part of a source, or a source that has no parts. Errors: those of LoadTrainingSet,
// LoadTestSet, ImageFileSamples and ArraySamples; kInvalidArgument for a
// .textproto that is no ImageData (proto/config/image_data.proto).
absl::StatusOr<std::unique_ptr<SampleSet>> OpenSamples(const DataSource& source, DataPart part);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_DATA_SOURCE_H_
