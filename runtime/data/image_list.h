// Which image files are samples, and what their labels are.

#ifndef FIXPOINT_RUNTIME_DATA_IMAGE_LIST_H_
#define FIXPOINT_RUNTIME_DATA_IMAGE_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fixpoint {

struct ListedImage {
  std::string path;
  int64_t label = 0;
};

// The images of a folder or a list. In a folder, each folder is a class, counted from 0 in the
// order of the names; its images are the files that end in .jpg, .jpeg or .png, in the order of
// their names too. A list is a text of lines, each of a path, relative to the folder of the list, a
// blank, and a label. Errors, with the path: kNotFound; kInvalidArgument: there are no images, or a
// line of the list has no label of 0 or more.
absl::StatusOr<std::vector<ListedImage>> ListImages(const std::string& path);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_IMAGE_LIST_H_
