// The idx format of MNIST and of sets that are stored like it (Fashion-MNIST, EMNIST). Source:
// Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits". Big endian:
//
//   u16 0, u8 type of an element (8 is a byte), u8 number of extents, u32 extent..., elements

#ifndef FIXPOINT_RUNTIME_DATA_IDX_H_
#define FIXPOINT_RUNTIME_DATA_IDX_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/data/image_set.h"

namespace fixpoint {

// Reads images, bytes [N,H,W] that become [N,1,H,W], and their labels, bytes [N], each file gzipped
// or not. Errors name the file and the byte: those of ReadDataFile; kDataLoss where a file ends too
// early; kInvalidArgument where it is no idx file, has other extents or goes on after its elements,
// and where there are not as many labels as images; kUnimplemented for elements that are not bytes.
absl::StatusOr<ImageSet> LoadIdx(const std::string& images_path, const std::string& labels_path);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_IDX_H_
