// Data sets as a command line names them: "mnist:FOLDER", "cifar10:FOLDER", "digits", "digits:N",
// "color_digits" or "color_digits:N".

#ifndef FIXPOINT_RUNTIME_DATA_DATA_SET_H_
#define FIXPOINT_RUNTIME_DATA_DATA_SET_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/data/image_set.h"

namespace fixpoint {

enum class DataSetKind {
  kMnist,        // a folder with train-images-idx3-ubyte, train-labels-idx1-ubyte and t10k-...
  kCifar10,      // a folder with data_batch_*.bin (or train*.bin) and test*.bin
  kDigits,       // rendered: runtime/data/digits.h
  kColorDigits,  // rendered: runtime/data/color_digits.h
};

struct DataSetName {
  DataSetKind kind = DataSetKind::kDigits;
  std::string folder;     // of files, each of which may be gzipped, with ".gz" after its name
  int64_t count = 10000;  // of rendered digits: images to train on; a fifth of that to test on
};

// Errors: kNotFound: the text is no such name; kInvalidArgument: its number is none.
absl::StatusOr<DataSetName> ParseDataSetName(absl::string_view text);

// The images to train on, and those to measure on, which have nothing in common. Errors: those of
// LoadIdx, LoadCifar10 and RenderDigits; kNotFound: the folder has no such file.
absl::StatusOr<ImageSet> LoadTrainingSet(const DataSetName& name);
absl::StatusOr<ImageSet> LoadTestSet(const DataSetName& name);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_DATA_SET_H_
