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
  std::vector<int64_t> dims;  // the extents of one sample, or of one row of a sequence
  // Of sequences, on how many levels they are nested; 0: a sample is no sequence.
  int lod_levels = 0;
  std::string place = {};  // the file that has it, for messages; "": that of the set
};

// A field as it is wanted: with these extents, which have as many elements as the field's.
struct FieldForm {
  size_t field = 0;  // its place in SampleSet::fields()
  std::vector<int64_t> dims;
  bool as_int64 = false;  // batchers widen the integers that a set gives; sets do not
};

class SampleSet {
 public:
  virtual ~SampleSet() = default;

  virtual int64_t size() const = 0;
  virtual absl::Span<const SampleField> fields() const = 0;

  // What whoever opened the set should be told of it; "": nothing.
  virtual std::string Note() const { return ""; }

  // How messages name a sample: "digits.npz: sample 7".
  virtual std::string NameOf(int64_t sample) const = 0;

  // The samples of these indices one after another, in a tensor [samples, ...] for each form; for a
  // field of sequences [rows, ...], with offsets. What is not asked for is not read. Errors:
  // kFailedPrecondition where the system has no memory; those of files, with the sample. Any number
  // of threads may read at once. REQUIRES: the indices are from 0 to size() - 1, and the forms fit.
  virtual absl::StatusOr<std::vector<Tensor>> Read(absl::Span<const int64_t> samples,
                                                   absl::Span<const FieldForm> forms) const = 0;

  // Tells which samples will be read next, so that a set that takes time for them may begin. Any
  // number of threads may tell and read at once; what is begun may be that of the last one alone.
  virtual void WillRead(absl::Span<const int64_t> /*samples*/) const {}

  // A checksum of all samples, by which the set is recognised. It guards against accident, not
  // against malice.
  virtual absl::StatusOr<uint64_t> Checksum() const = 0;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_SAMPLE_SET_H_
