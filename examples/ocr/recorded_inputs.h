// What the networks of a TextReader were fed, kept for calibration.

#ifndef FIXPOINT_EXAMPLES_OCR_RECORDED_INPUTS_H_
#define FIXPOINT_EXAMPLES_OCR_RECORDED_INPUTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "examples/ocr/text_reader.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace ocr {

class RecordedInputs {
 public:
  // FP32 [N,3,H,W], which was fed to a variable.
  void Add(Stage stage, const std::string& variable, const Tensor& input);

  // Writes, for each stage that was fed, <folder>/<StageName>.npz: all images that it saw in one
  // array under the variable's name, smaller ones with zeros to the right and below.
  // Errors (kUnavailable): a file cannot be written; kFailedPrecondition: there is no memory.
  absl::Status Write(const std::string& folder) const;

 private:
  struct Images {
    std::vector<int64_t> dims;
    std::vector<float> values;
  };
  struct Inputs {
    std::string variable;
    std::vector<Images> batches;
  };
  std::map<Stage, Inputs> stages_;
};

}  // namespace ocr
}  // namespace fixpoint

#endif  // FIXPOINT_EXAMPLES_OCR_RECORDED_INPUTS_H_
