// CIFAR-10 in its binary form. Source: A. Krizhevsky, "Learning Multiple Layers of Features from
// Tiny Images", 2009, and the page of the data set: records one after another, each of a byte that
// is the label and 3072 that are the red, the green and the blue plane, 32 rows of 32 pixels each.

#ifndef FIXPOINT_RUNTIME_DATA_CIFAR10_H_
#define FIXPOINT_RUNTIME_DATA_CIFAR10_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/image_set.h"

namespace fixpoint {

// Reads batches one after another, each gzipped or not: images [N,3,32,32], labels 0 to 9. Errors
// name the file and the byte: those of ReadDataFile; kDataLoss for a record that is cut off;
// kInvalidArgument for a label over 9, and for a file without records.
absl::StatusOr<ImageSet> LoadCifar10(const std::vector<std::string>& paths);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_CIFAR10_H_
