// Searches with beams. A run decides how many words are selected: at most beam_size for each
// source.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/beam_size.h"
#include "ops/sequence_lods.h"
#include "proto/base/status_macros.h"
#include "runtime/beams/ancestors.h"
#include "runtime/beams/beam_search.h"
#include "runtime/beams/sentences.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/run_shape.h"
#include "runtime/executor/ops/tensor_arrays.h"

namespace fixpoint::executor {
namespace {

absl::StatusOr<int64_t> BeamSizeOf(const OpPlanner& op) {
  return CheckedBeamSize(op.attributes().Int("beam_size"));
}

// An input of beam_search with a number for each of the candidates, or for each prefix.
struct RowsRead {
  Buffer buffer;
  ReadShape shape;
  const char* slot;

  // Error: it has not as many elements as there are.
  absl::Status Check(const StepContext& run, int64_t wanted) const {
    int64_t there = 1;
    for (const int64_t dim : shape.DimsIn(run)) there *= dim;
    if (there == wanted) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(slot, " has ", there, " elements; want ", wanted, ", as scores says"));
  }
};

absl::StatusOr<RowsRead> ReadRows(OpPlanner& op, const char* slot, VarType::Type dtype) {
  RowsRead rows{Buffer(), ReadShape::OfAny(op, slot), slot};
  ASSIGN_OR_RETURN(rows.buffer, op.Read(slot, dtype));
  return rows;
}

// Where the words go that are selected.
struct SelectedOutputs {
  Buffer ids;
  Buffer scores;
  Buffer parents;
  RunShape of_ids;
  RunShape of_scores;
  RunShape of_parents;

  std::vector<Buffer> buffers() const {
    std::vector<Buffer> all = {ids, scores, parents};
    for (const RunShape* shape : {&of_ids, &of_scores, &of_parents}) {
      for (const Buffer buffer : shape->buffers()) all.push_back(buffer);
    }
    return all;
  }

  void Write(const StepContext& run, const std::vector<uint64_t>& sources,
             const beams::SelectedWords<float>& selected) const {
    const int64_t count = static_cast<int64_t>(selected.words.size());
    const absl::Span<int64_t> to_ids = run.Of<int64_t>(ids);
    const absl::Span<float> to_scores = run.Floats(scores);
    const absl::Span<int32_t> to_parents = run.Of<int32_t>(parents);
    for (int64_t i = 0; i < count; ++i) {
      const beams::ScoredWord<float>& word = selected.words[i];
      to_ids[i] = word.id;
      to_scores[i] = word.score;
      to_parents[i] = static_cast<int32_t>(word.prefix);
    }
    DecideRows(run, of_ids, {count, 1}, to_ids);
    DecideRows(run, of_scores, {count, 1}, to_scores);
    DecideRows(run, of_parents, {count}, to_parents);
    for (const RunShape* shape : {&of_ids, &of_scores}) {
      DecideOffsets(run, *shape, sources, 0);
      DecideOffsets(run, *shape, selected.offsets, 1);
    }
  }
};

absl::StatusOr<SelectedOutputs> DeclareSelected(OpPlanner& op, int64_t sources, int64_t rows) {
  ASSIGN_OR_RETURN(const int64_t beam_size, BeamSizeOf(op));
  ASSIGN_OR_RETURN(const int64_t most, ElementCount({sources, beam_size}));
  SelectedOutputs outputs;
  const std::vector<int64_t> most_offsets = {sources + 1, rows + 1};
  outputs.ids = op.WriteAs("selected_ids", {VarType::INT64, {most, 1}});
  outputs.of_ids = op.DecideShape("selected_ids", most_offsets);
  outputs.scores = op.WriteAs("selected_scores", {VarType::FP32, {most, 1}});
  outputs.of_scores = op.DecideShape("selected_scores", most_offsets);
  outputs.parents = op.WriteAs("parent_idx", {VarType::INT32, {most}});
  outputs.of_parents = op.DecideShape("parent_idx");
  return outputs;
}

absl::Status PlanSearch(OpPlanner& op) {
  const int64_t level = op.attributes().Int("level");
  ASSIGN_OR_RETURN(const RowsRead scores, ReadRows(op, "scores", VarType::FP32));
  ASSIGN_OR_RETURN(const RowsRead last_ids, ReadRows(op, "pre_ids", VarType::INT64));
  ASSIGN_OR_RETURN(const RowsRead prefix_scores, ReadRows(op, "pre_scores", VarType::FP32));
  std::vector<RowsRead> inputs = {scores, last_ids, prefix_scores};
  const bool has_ids = op.HasInput("ids");
  if (has_ids) {
    ASSIGN_OR_RETURN(const RowsRead ids, ReadRows(op, "ids", VarType::INT64));
    inputs.push_back(ids);
  }
  const std::vector<int64_t> most_offsets = scores.shape.most_offsets();
  if (level < 0 || level >= static_cast<int64_t>(most_offsets.size())) {
    return absl::InvalidArgumentError(absl::StrCat("level is ", level, " and scores has ",
                                                   most_offsets.size(),
                                                   " levels of offsets; want one of them"));
  }
  beams::Search search;
  ASSIGN_OR_RETURN(search.beam_size, BeamSizeOf(op));
  search.end_id = op.attributes().Int("end_id");
  search.is_accumulated = op.attributes().Bool("is_accumulated");
  ASSIGN_OR_RETURN(const SelectedOutputs outputs,
                   DeclareSelected(op, most_offsets[level] - 1, scores.shape.most[0]));
  std::vector<Buffer> reads;
  for (const RowsRead& input : inputs) {
    reads.push_back(input.buffer);
    for (const Buffer buffer : input.shape.buffers()) reads.push_back(buffer);
  }
  op.AddStep({std::move(reads), outputs.buffers(), [=](const StepContext& run) {
                const Dims dims = scores.shape.DimsIn(run);
                int64_t candidates = 1;
                for (const int64_t dim : dims) candidates *= dim;
                RETURN_IF_ERROR(last_ids.Check(run, dims[0]));
                RETURN_IF_ERROR(prefix_scores.Check(run, dims[0]));
                if (has_ids) RETURN_IF_ERROR(inputs[3].Check(run, candidates));
                ASSIGN_OR_RETURN(const std::vector<uint64_t> sources,
                                 RowOffsets("scores", dims, scores.shape.LodIn(run), level));
                beams::Continuations<float> from;
                from.last_ids = run.Of<int64_t>(last_ids.buffer).first(dims[0]);
                from.prefix_scores = run.Floats(prefix_scores.buffer).first(dims[0]);
                if (has_ids) from.ids = run.Of<int64_t>(inputs[3].buffer).first(candidates);
                from.scores = run.Floats(scores.buffer).first(candidates);
                outputs.Write(run, sources, beams::SelectWords<float>(search, sources, from));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// The words of an array of words, as the bytes of its tensors hold them.
template <typename T>
absl::Span<const T> ElementsOf(const TensorArray::Element& element) {
  return {reinterpret_cast<const T*>(element.bytes.data()), element.bytes.size() / sizeof(T)};
}

absl::StatusOr<std::vector<beams::SearchStep<float>>> StepsOf(const TensorArray& ids,
                                                              const TensorArray& scores) {
  std::vector<beams::SearchStep<float>> steps;
  for (int64_t t = 0; t < std::max(ids.size(), scores.size()); ++t) {
    const TensorArray::Element* const of_ids = ids.Find(t);
    const TensorArray::Element* const of_scores = scores.Find(t);
    const bool is_there = of_ids != nullptr && of_scores != nullptr;
    if (!is_there || ElementsOf<int64_t>(*of_ids).size() != ElementsOf<float>(*of_scores).size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Ids[", t, "] or Scores[", t, "] is unset, or they differ in size; want equal tensors"));
    }
    steps.push_back({of_ids->lod, ElementsOf<int64_t>(*of_ids), ElementsOf<float>(*of_scores)});
  }
  return steps;
}

absl::Status PlanDecode(OpPlanner& op) {
  // How many steps a search has is known in the run alone.
  constexpr int64_t kMostWords = 1024;  // of a sentence
  ASSIGN_OR_RETURN(const HeldArray* held_ids, ReadArray(op, "Ids"));
  ASSIGN_OR_RETURN(const HeldArray* held_scores, ReadArray(op, "Scores"));
  const HeldArray ids = *held_ids;
  const HeldArray scores = *held_scores;
  if (ids.most.dtype != VarType::INT64 || scores.most.dtype != VarType::FP32) {
    return absl::UnimplementedError("Ids or Scores is of another type; want i64 and f32");
  }
  if (ids.most_offsets.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("Ids has ", ids.most_offsets.size(),
                     " levels of offsets; want those of sources and of prefixes"));
  }
  ASSIGN_OR_RETURN(const int64_t beam_size, BeamSizeOf(op));
  const int64_t sources = std::max<int64_t>(ids.most_offsets[0] - 1, 0);
  ASSIGN_OR_RETURN(const int64_t sentences, ElementCount({sources, beam_size}));
  ASSIGN_OR_RETURN(const int64_t most, ElementCount({sentences, kMostWords}));
  const std::vector<int64_t> most_offsets = {sources + 1, sentences + 1};
  const Buffer out_ids = op.WriteAs("SentenceIds", {VarType::INT64, {most}});
  const RunShape of_ids = op.DecideShape("SentenceIds", most_offsets);
  const Buffer out_scores = op.WriteAs("SentenceScores", {VarType::FP32, {most}});
  const RunShape of_scores = op.DecideShape("SentenceScores", most_offsets);
  std::vector<Buffer> writes = {out_ids, out_scores};
  for (const RunShape* shape : {&of_ids, &of_scores}) {
    for (const Buffer buffer : shape->buffers()) writes.push_back(buffer);
  }
  const int64_t end_id = op.attributes().Int("end_id");
  AddArrayStep(op, {}, std::move(writes), [=](const StepContext& run) {
    ASSIGN_OR_RETURN(const auto steps, StepsOf(*ids.array, *scores.array));
    ASSIGN_OR_RETURN(const beams::Sentences<float> decoded,
                     beams::DecodeSentences<float>(steps, beam_size, end_id));
    const int64_t count = static_cast<int64_t>(decoded.ids.size());
    if (count > most || static_cast<int64_t>(decoded.lod[0].size()) > sources + 1) {
      return absl::UnimplementedError(absl::StrCat("the sentences have ", count,
                                                   " words; the executor has place for ",
                                                   kMostWords, " in each"));
    }
    WriteRows<int64_t>(run, of_ids, {count}, decoded.ids, out_ids);
    WriteRows<float>(run, of_scores, {count}, decoded.scores, out_scores);
    for (const RunShape* shape : {&of_ids, &of_scores}) {
      for (size_t level : {0, 1}) DecideOffsets(run, *shape, decoded.lod[level], level);
    }
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

template <typename T>
absl::Status AddGatherStep(OpPlanner& op, VarType::Type dtype) {
  const Dims dims = op.InputDims("Ids");
  ASSIGN_OR_RETURN(const Buffer ids, op.Read("Ids", dtype));
  ASSIGN_OR_RETURN(const Buffer parents, op.Read("Parents", dtype));
  const Buffer out = op.WriteAs("Out", {dtype, dims});
  op.AddStep({{ids, parents}, {out}, [=](const StepContext& run) {
                return beams::GatherAncestors<T, T>(dims[0], dims[1], dims[2], run.Of<T>(ids),
                                                    run.Of<T>(parents), run.Of<T>(out));
              }});
  return absl::OkStatus();
}

absl::Status PlanGatherTree(OpPlanner& op) {
  if (op.InputDims("Ids").size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("Ids is ", DimsText(op.InputDims("Ids")), "; want [steps, batch, beams]"));
  }
  RETURN_IF_ERROR(op.CheckDims("Parents", op.InputDims("Ids")));
  const VarType::Type dtype = op.InputType("Ids").dtype;
  return dtype == VarType::INT32 ? AddGatherStep<int32_t>(op, dtype)
                                 : AddGatherStep<int64_t>(op, VarType::INT64);
}

}  // namespace

OpPlans BeamPlans() {
  return {{"beam_search", PlanSearch},
          {"beam_search_decode", PlanDecode},
          {"gather_tree", PlanGatherTree, AlwaysRoundsOnce}};
}

}  // namespace fixpoint::executor
