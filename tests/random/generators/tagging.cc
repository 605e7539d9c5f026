// Tags of sequences, labels that are not aligned, and distances.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

// Multiples of 1/16, whose sums are exact, so that equal scores are equal on both backends.
std::string Scores(CaseMaker& c, const Dims& dims) {
  std::vector<float> values(SizeOf(dims));
  for (float& value : values) value = static_cast<float>(c.Between(-32, 32)) / 16;
  return c.Floats(dims, values);
}

// Emissions of sequences with their transitions, in either form.
std::string Field(CaseMaker& c, bool has_label) {
  const int64_t tags = c.Between(1, 12);
  const std::string transition = Scores(c, {tags + 2, tags});
  if (c.OneIn(2)) {
    const int64_t rows = c.Between(1, 20);
    const std::string emission = Scores(c, {rows, tags});
    c.CutIntoSequences(emission);
    const std::string label =
        has_label ? ", Label=" + c.Integers(VarType::INT64, {rows, 1}, 0, tags - 1) : "";
    return absl::StrCat("Emission=", emission, ", Transition=", transition, label);
  }
  const int64_t batch = c.Between(1, 4);
  const int64_t steps = c.Between(1, 8);
  const std::string emission = Scores(c, {batch, steps, tags});
  const std::string label =
      has_label ? ", Label=" + c.Integers(VarType::INT64, {batch, steps}, 0, tags - 1) : "";
  return absl::StrCat("Emission=", emission, ", Transition=", transition, label,
                      ", Length=", c.Integers(VarType::INT64, {batch, 1}, 0, steps));
}

void Crf(CaseMaker& c) {
  c.Op("linear_chain_crf(", Field(c, true),
       ") -> (LogLikelihood=out, Alpha=alpha, EmissionExps=emissions, TransitionExps=transitions)");
  c.Sums(100);
}

void Decoding(CaseMaker& c) {
  c.Op("crf_decoding(", Field(c, c.OneIn(2)), ") -> (ViterbiPath=out)");
  c.Exact();
}

void Distance(CaseMaker& c) {
  const int64_t batch = c.Between(1, 4);
  const int64_t hyps = c.Between(1, 8);
  const int64_t refs = c.Between(1, 8);
  const VarType::Type dtype = c.OneIn(2) ? VarType::INT32 : VarType::INT64;
  c.Op("edit_distance(Hyps=", c.Integers(dtype, {batch, hyps}, 0, 3),
       ", Refs=", c.Integers(dtype, {batch, refs}, 0, 3),
       ", HypsLength=", c.Integers(VarType::INT64, {batch, 1}, 0, hyps),
       ", RefsLength=", c.Integers(VarType::INT64, {batch, 1}, 1, refs),
       ") -> (Out=out, SequenceNum=number) {normalized=", BoolText(c.OneIn(2)), "}");
}

void Align(CaseMaker& c) {
  const int64_t batch = c.Between(1, 4);
  const int64_t steps = c.Between(1, 10);
  c.Op("ctc_align(Input=", c.Integers(VarType::INT32, {batch, steps}, 0, 3),
       ", InputLength=", c.Integers(VarType::INT32, {batch, 1}, 0, steps),
       ") -> (Output=out, OutputLength=lengths) {blank=", c.Between(0, 3),
       ", merge_repeated=", BoolText(c.OneIn(2)), ", padding_value=", c.Between(-1, 1), "}");
  c.Exact();
}

void Ctc(CaseMaker& c) {
  const int64_t batch = c.Between(1, 4);
  const int64_t steps = c.Between(1, 10);
  const int64_t classes = c.Between(2, 20);
  const int64_t labels = c.Between(1, 4);
  c.Op("warpctc(Logits=", c.Numbers({steps, batch, classes}, -2.0f, 2.0f),
       ", Label=", c.Integers(VarType::INT32, {batch, labels}, 1, classes - 1),
       ", LogitsLength=", c.Integers(VarType::INT64, {batch}, 1, steps),
       ", LabelLength=", c.Integers(VarType::INT64, {batch}, 0, labels),
       ") -> (Loss=out, WarpCTCGrad=gradients) {blank=0, norm_by_times=", BoolText(c.OneIn(2)),
       "}");
  c.Sums(steps * classes);
}

void Viterbi(CaseMaker& c) {
  const int64_t batch = c.Between(1, 4);
  const int64_t steps = c.Between(1, 10);
  const int64_t tags = c.Between(2, 9);
  c.Op("viterbi_decode(Input=", c.Numbers({batch, steps, tags}),
       ", Transition=", c.Numbers({tags, tags}),
       ", Length=", c.Integers(VarType::INT64, {batch}, 1, static_cast<int>(steps)),
       ") -> (Scores=out, Path=path) {include_bos_eos_tag=", BoolText(c.OneIn(2)), "}");
  // A path of another score may be within rounding of the best one.
  c.Fetch({"out"});
  c.Sums(2 * steps);
}

void Cosine(CaseMaker& c) {
  c.set_era(Era::kFluid);
  const int64_t rows = c.Between(1, 20);
  const int64_t width = c.Between(1, 40);
  c.Op("cos_sim(X=", c.Numbers({rows, width}, 0.2f, 2.0f),
       ", Y=", c.Numbers({c.OneIn(2) ? 1 : rows, width}, 0.2f, 2.0f),
       ") -> (Out=out, XNorm=x_norm, YNorm=y_norm)");
  c.Sums(std::max(rows, width));
  // An element of the gradient is a difference of numbers of up to |out@GRAD| / |x|.
  c.Magnitude(10.0 * static_cast<double>(rows));
}

}  // namespace

Generators TaggingGenerators() {
  return {{"linear_chain_crf", Crf},  {"crf_decoding", Decoding}, {"edit_distance", Distance},
          {"ctc_align", Align},       {"warpctc", Ctc},           {"cos_sim", Cosine},
          {"viterbi_decode", Viterbi}};
}

}  // namespace fixpoint::random_cases
