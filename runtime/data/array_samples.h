// Samples in NumPy's arrays: each array is a field of its name, with a sample in each row along its
// first axis. An array `x.lod` or `x.lengths` cuts the rows of `x` into sequences
// (runtime/data/sequence_offsets.h), each of which is a sample.

#ifndef FIXPOINT_RUNTIME_DATA_ARRAY_SAMPLES_H_
#define FIXPOINT_RUNTIME_DATA_ARRAY_SAMPLES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/lod.h"
#include "runtime/data/sample_set.h"
#include "runtime/data/stored_array.h"
#include "runtime/tensor.h"

namespace fixpoint {

struct NamedArray {
  std::string name;
  StoredArray array;
};

class ArraySamples final : public SampleSet {
 public:
  // `place` is how messages name the whole set. Errors, with the place of the array: those of
  // LodFromOffsets and LodFromLengths; kInvalidArgument: there are no samples, an array has no
  // axis, or they do not have the same number of samples. REQUIRES: no two have one name.
  static absl::StatusOr<ArraySamples> Create(std::string place, std::vector<NamedArray> arrays);

  // The same for the arrays of a .npz file, which is read into memory, and for .npy files, which
  // are not, by the names of their fields. Errors: also those of LoadNpz and StoredArray::Open.
  static absl::StatusOr<ArraySamples> OpenNpz(const std::string& path);
  static absl::StatusOr<ArraySamples> OpenNpy(
      const std::vector<std::pair<std::string, std::string>>& names_and_paths);

  int64_t size() const override { return size_; }
  absl::Span<const SampleField> fields() const override { return fields_; }
  std::string NameOf(int64_t sample) const override;
  absl::StatusOr<std::vector<Tensor>> Read(absl::Span<const int64_t> samples,
                                           absl::Span<const FieldForm> forms) const override;
  absl::StatusOr<uint64_t> Checksum() const override;

 private:
  struct Source {
    StoredArray array;
    LoD lod;
  };

  explicit ArraySamples(std::string place) : place_(std::move(place)) {}

  absl::StatusOr<Tensor> ReadField(const FieldForm& form, absl::Span<const int64_t> samples) const;

  std::string place_;
  int64_t size_ = 0;
  std::vector<SampleField> fields_;
  std::vector<Source> sources_;  // of each field
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_ARRAY_SAMPLES_H_
