#include "tools/inference_inputs.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/backend.h"
#include "runtime/data/batcher.h"
#include "runtime/data/sample_set.h"
#include "runtime/npy.h"
#include "runtime/parameter_file.h"
#include "runtime/training/fed_batches.h"
#include "tools/command_line.h"
#include "tools/named_program.h"
#include "tools/network_ends.h"

namespace fixpoint {

absl::StatusOr<Scope> LoadScope(const Program& program, const std::string& path,
                                absl::string_view flag, const std::string& params) {
  const size_t count = ParametersOf(program.Proto()).size();
  if (count == 0) return Scope();
  if (params.empty()) {
    return UsageError(absl::StrCat(path, " has ", count, " parameters; want --", flag,
                                   "=FILE or --", flag, "=FOLDER"));
  }
  return LoadParameters(program.Proto(), params);
}

absl::Status CheckFeeds(const Program& program, const std::string& path,
                        const std::vector<NamedFile>& feeds,
                        const std::vector<std::string>& fetches, bool runs_all) {
  for (const Variable* variable : NeededInputs(program, fetches, runs_all)) {
    const std::string& name = variable->name();
    const bool is_fed = std::any_of(feeds.begin(), feeds.end(),
                                    [&](const NamedFile& feed) { return feed.name == name; });
    if (is_fed) continue;
    return UsageError(
        absl::StrCat(path, " is fed \"", name, "\"; want --feeds=", name, "=FILE.npy"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> LoadFeed(const NamedFile& feed, const Variable& variable) {
  ASSIGN_OR_RETURN(Tensor tensor, LoadNpy(feed.file));
  const VarType::TensorDesc* declared = variable.tensor();
  if (declared == nullptr) return tensor;
  const DimsView dims(declared->dims().data(), declared->dims_size());
  // Exporters declare the extents of an example, but programs run with others.
  const bool is_rank_right = dims.empty() || tensor.dims().size() == dims.size();
  if (tensor.dtype() == declared->data_type() && is_rank_right) return tensor;
  return absl::InvalidArgumentError(
      absl::StrCat(feed.file, ": is ", VarType::Type_Name(tensor.dtype()), " ",
                   DimsText(tensor.dims()), "; want what the program declares of \"", feed.name,
                   "\", ", VarType::Type_Name(declared->data_type()), " ", DimsText(dims)));
}

absl::StatusOr<FirstBatch> FirstBatchOf(const DataSource& data, const Program& program,
                                        const std::string& path, const NetworkVariables& variables,
                                        int64_t batch_size) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SampleSet> set, OpenData(data, DataPart::kTest));
  BatchOptions options;
  options.batch_size = batch_size;
  options.shuffle = false;
  absl::StatusOr<FedBatches> batches = FedBatches::Create(program, set.get(), variables, options);
  if (!batches.ok()) return InFile(path, batches.status());
  ASSIGN_OR_RETURN(const Batch batch, batches->batcher().Next());
  FirstBatch first;
  first.samples = static_cast<int64_t>(batch.samples.size());
  for (const Feed& feed : batches->FeedsOf(batch)) {
    ASSIGN_OR_RETURN(Tensor value, feed.value->Clone());
    first.values.Set(feed.name, std::move(value));
  }
  return first;
}

}  // namespace fixpoint
