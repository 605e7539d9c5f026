// Samples on which programs are trained, calibrated and measured, wherever they lie: a sample is a
// value for each of some named fields, as an image and its label. Batchers
// (runtime/data/batcher.h) put samples together.

#ifndef FIXPOINT_RUNTIME_DATA_SAMPLE_SET_H_
#define FIXPOINT_RUNTIME_DATA_SAMPLE_SET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/wire/program.pb.h"
#include "runtime/tensor.h"

namespace fixpoint {

struct SampleField {
  std::string name;
  VarType::Type dtype;
  std::vector<int64_t> dims;  // the extents of one sample
};

// A field as it is wanted: with these extents of a sample, which have as many elements as the
// field's.
struct FieldForm {
  size_t field = 0;  // its place in SampleSet::fields()
  std::vector<int64_t> dims;
};

class SampleSet {
 public:
  virtual ~SampleSet() = default;

  virtual int64_t size() const = 0;
  virtual absl::Span<const SampleField> fields() const = 0;

  // The samples of these indices one after another, in a tensor [samples, ...] for each form. What
  // is not asked for is not read. Errors name the sample: kFailedPrecondition where the system has
  // no memory. REQUIRES: the indices are from 0 to size() - 1, and the forms fit.
  virtual absl::StatusOr<std::vector<Tensor>> Read(absl::Span<const int64_t> samples,
                                                   absl::Span<const FieldForm> forms) const = 0;

  // A checksum of all samples, by which the set is recognised. It guards against accident, not
  // against malice.
  virtual absl::StatusOr<uint64_t> Checksum() const = 0;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_SAMPLE_SET_H_
