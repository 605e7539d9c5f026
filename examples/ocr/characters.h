// From the scores of a recognition network to text: connectionist temporal classification, the most
// probable class of each step (Graves et al., 2006).

#ifndef FIXPOINT_EXAMPLES_OCR_CHARACTERS_H_
#define FIXPOINT_EXAMPLES_OCR_CHARACTERS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fixpoint {
namespace ocr {

struct ReadText {
  std::string text;
  double score = 0;  // the mean probability of its characters; 0 without any
};

class Characters {
 public:
  // A character on each line of a file, in the order of the network's classes; class 0 is the
  // blank. Errors: those of ReadInputFile (proto/file/input_file.h); kInvalidArgument: the file is
  // empty.
  static absl::StatusOr<Characters> Load(const std::string& path);
  explicit Characters(std::vector<std::string> characters) : characters_(std::move(characters)) {}

  // The text of one line from the probabilities [steps,classes]: classes that repeat are one, and
  // blanks are left out. A network of one class more than blank and characters has the space as the
  // last one. Error (kInvalidArgument): another number of classes.
  absl::StatusOr<ReadText> Read(absl::Span<const float> probabilities, int64_t classes) const;

 private:
  std::vector<std::string> characters_;
};

}  // namespace ocr
}  // namespace fixpoint

#endif  // FIXPOINT_EXAMPLES_OCR_CHARACTERS_H_
