// Searches with beams.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/beam_size.h"
#include "ops/sequence_lods.h"
#include "proto/base/status_macros.h"
#include "runtime/beams/ancestors.h"
#include "runtime/beams/beam_search.h"
#include "runtime/beams/sentences.h"
#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

std::vector<int64_t> IntegersOf(const Array& array) {
  std::vector<int64_t> integers;
  for (const double value : array.values) integers.push_back(ToInt(value));
  return integers;
}

absl::StatusOr<int64_t> BeamSizeOf(const OpRun& op) { return CheckedBeamSize(op.Int("beam_size")); }

Array ColumnOf(VarType::Type dtype, DimsView dims, std::vector<double> values) {
  Array array(dtype, dims);
  array.values = std::move(values);
  return array;
}

absl::Status BeamSearch(OpRun& op) {
  const Array& scores = op.Input("scores");
  if (scores.rank() < 1) return absl::InvalidArgumentError("scores is a scalar; want rows");
  const int64_t rows = scores.dims[0];
  for (const char* slot : {"pre_ids", "pre_scores"}) RETURN_IF_ERROR(op.CheckSize(slot, rows));
  const Array* const ids = op.FindInput("ids");
  if (ids != nullptr) RETURN_IF_ERROR(op.CheckSize("ids", scores.size()));
  beams::Search search;
  ASSIGN_OR_RETURN(search.beam_size, BeamSizeOf(op));
  search.end_id = op.Int("end_id");
  search.is_accumulated = op.Bool("is_accumulated");
  ASSIGN_OR_RETURN(const std::vector<uint64_t> sources,
                   RowOffsets("scores", scores.dims, scores.lod, op.Int("level")));
  const std::vector<int64_t> last_ids = IntegersOf(op.Input("pre_ids"));
  const std::vector<int64_t> candidates =
      ids != nullptr ? IntegersOf(*ids) : std::vector<int64_t>();
  const beams::SelectedWords<double> selected = beams::SelectWords<double>(
      search, sources, {last_ids, op.Input("pre_scores").values, candidates, scores.values});
  std::vector<double> selected_ids;
  std::vector<double> selected_scores;
  std::vector<double> parents;
  for (const beams::ScoredWord<double>& word : selected.words) {
    selected_ids.push_back(static_cast<double>(word.id));
    selected_scores.push_back(word.score);
    parents.push_back(static_cast<double>(word.prefix));
  }
  const int64_t count = static_cast<int64_t>(selected.words.size());
  Array out_ids = ColumnOf(VarType::INT64, Dims{count, 1}, std::move(selected_ids));
  Array out_scores =
      ColumnOf(op.Input("pre_scores").dtype, Dims{count, 1}, std::move(selected_scores));
  out_ids.lod = {sources, {selected.offsets.begin(), selected.offsets.end()}};
  out_scores.lod = out_ids.lod;
  op.SetCutOutput("selected_ids", std::move(out_ids));
  op.SetCutOutput("selected_scores", std::move(out_scores));
  op.SetOutput("parent_idx", ColumnOf(VarType::INT32, Dims{count}, std::move(parents)));
  return absl::OkStatus();
}

absl::Status BeamSearchDecode(OpRun& op) {
  const Array& ids = op.Input("Ids");
  const Array& scores = op.Input("Scores");
  if (!ids.elements || !scores.elements || ids.elements->size() != scores.elements->size()) {
    return absl::InvalidArgumentError(
        "Ids or Scores is a tensor, or they have other lengths; want "
        "two arrays with as many tensors");
  }
  ASSIGN_OR_RETURN(const int64_t beam_size, BeamSizeOf(op));
  std::vector<std::vector<int64_t>> words(ids.elements->size());
  std::vector<beams::SearchStep<double>> steps;
  for (size_t t = 0; t < words.size(); ++t) {
    const Array* const of_ids = (*ids.elements)[t].get();
    const Array* const of_scores = (*scores.elements)[t].get();
    if (of_ids == nullptr || of_scores == nullptr || of_ids->size() != of_scores->size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Ids[", t, "] or Scores[", t, "] is unset, or they differ in size; want equal tensors"));
    }
    words[t] = IntegersOf(*of_ids);
    steps.push_back({of_ids->lod, words[t], of_scores->values});
  }
  ASSIGN_OR_RETURN(beams::Sentences<double> sentences,
                   beams::DecodeSentences<double>(steps, beam_size, op.Int("end_id")));
  const int64_t count = static_cast<int64_t>(sentences.ids.size());
  Array out_ids(VarType::INT64, Dims{count});
  std::copy(sentences.ids.begin(), sentences.ids.end(), out_ids.values.begin());
  Array out_scores =
      ColumnOf((*scores.elements)[0]->dtype, Dims{count}, std::move(sentences.scores));
  out_ids.lod = sentences.lod;
  out_scores.lod = sentences.lod;
  op.SetCutOutput("SentenceIds", std::move(out_ids));
  op.SetCutOutput("SentenceScores", std::move(out_scores));
  return absl::OkStatus();
}

absl::Status GatherTree(OpRun& op) {
  const Array& ids = op.Input("Ids");
  RETURN_IF_ERROR(op.CheckRank("Ids", 3));
  RETURN_IF_ERROR(op.CheckDims("Parents", ids.dims));
  Array out(ids.dtype, ids.dims);
  const std::vector<int64_t> parents = IntegersOf(op.Input("Parents"));
  const absl::Status status = beams::GatherAncestors<double, int64_t>(
      ids.dims[0], ids.dims[1], ids.dims[2], ids.values, parents, absl::MakeSpan(out.values));
  RETURN_IF_ERROR(status);
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels BeamKernels() {
  return {{"beam_search", BeamSearch},
          {"beam_search_decode", BeamSearchDecode},
          {"gather_tree", GatherTree}};
}

}  // namespace fixpoint::reference
