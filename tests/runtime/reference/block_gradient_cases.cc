// Ops that run blocks, with the gradients of these.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/runtime/reference/gradient_cases.h"

namespace fixpoint::reference {
namespace {

// A loop of so many turns over `body`, which may read the parameters x [3,2] and w [2,2] and the
// counter i, and reads and writes h, which begins with x.
std::string Loop(int turns, const std::string& body) {
  return absl::StrCat(R"(program
block 0 {
  var x f32[3,2] persistable
  var w f32[2,2] persistable
  var h f32[3,2]
  var out f32[3,2]
  var i i64[1]
  var n i64[1]
  var goes_on bool[1]
  var scopes step_scopes
  scale(X=x) -> (Out=h) {scale=0.5}
  fill_constant() -> (Out=i) {shape=[1L], dtype=3, value=0.0}
  fill_constant() -> (Out=n) {shape=[1L], dtype=3, value=)",
                      turns, R"(.0}
  less_than(X=i, Y=n) -> (Out=goes_on)
  while(X=[h, x, w, i, n], Condition=goes_on) -> (Out=[h, i, goes_on], StepScopes=scopes) {
    sub_block=block(1)}
  assign(X=h) -> (Out=out)
}
block 1 parent=0 {
  var p f32[3,2]
  var t f32[3,2]
  var q f32[3,2]
  var next i64[1]
)",
                      body);
}

constexpr char kCounts[] = R"(
  increment(X=i) -> (Out=i) {step=1.0}
  less_than(X=i, Y=n) -> (Out=goes_on)
}
)";

// h and w are read in each turn; h twice.
constexpr char kBody[] = R"(
  mul(X=h, Y=w) -> (Out=p)
  tanh(X=p) -> (Out=t)
  elementwise_mul(X=t, Y=h) -> (Out=q)
  assign(X=q) -> (Out=h)
)";

// Each turn of the outer loop runs an inner one of i + 1 turns.
constexpr char kInnerLoop[] = R"(
  var j i64[1]
  var k f32[3,2]
  var inner_goes_on bool[1]
  var inner_scopes step_scopes
  fill_constant() -> (Out=j) {shape=[1L], dtype=3, value=0.0}
  less_equal(X=j, Y=i) -> (Out=inner_goes_on)
  scale(X=h) -> (Out=k) {scale=1.5}
  while(X=[k, w, i, j], Condition=inner_goes_on) -> (Out=[k, j, inner_goes_on], StepScopes=inner_scopes) {
    sub_block=block(2)}
  elementwise_add(X=k, Y=x) -> (Out=q)
)";

// Where the counter is 0, h is multiplied by w, and else squared.
constexpr char kChoice[] = R"(
  var zero i64[1]
  var is_first bool[1]
  var is_later bool[1]
  var number i32[1]
  var first f32[3,2]
  var later f32[3,2]
  var first_scope step_scopes
  var later_scope step_scopes
  fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
  equal(X=i, Y=zero) -> (Out=is_first)
  conditional_block(Cond=is_first, Input=[h, w]) -> (Out=first, Scope=first_scope) {
    sub_block=block(2), is_scalar_condition=true}
  logical_not(X=is_first) -> (Out=is_later)
  conditional_block(Cond=is_later, Input=h) -> (Out=later, Scope=later_scope) {
    sub_block=block(3), is_scalar_condition=true}
  cast(X=is_first) -> (Out=number) {in_dtype=0, out_dtype=2}
  select_input(X=[later, first], Mask=number) -> (Out=q)
  assign(X=q) -> (Out=h)
)";
constexpr char kChoices[] = R"(
block 2 parent=1 {
  var product f32[3,2]
  mul(X=h, Y=w) -> (Out=product)
  tanh(X=product) -> (Out=first)
}
block 3 parent=1 {
  square(X=h) -> (Out=later)
}
)";

// What static.nn.cond writes.
constexpr char kConditional[] = R"(program
block 0 {
  var p bool[1]
  var x f32[3,2] persistable
  var w f32[2,2] persistable
  var v f32[2,2] persistable
  var h f32[3,2]
  var not_p bool[1]
  var number i32[1]
  var yes f32[3,2]
  var no f32[3,2]
  var yes_scope step_scopes
  var no_scope step_scopes
  var out f32[3,2]
  tanh(X=x) -> (Out=h)
  conditional_block(Cond=p, Input=[h, w]) -> (Out=yes, Scope=yes_scope) {
    sub_block=block(1), is_scalar_condition=true}
  logical_not(X=p) -> (Out=not_p)
  conditional_block(Cond=not_p, Input=[h, v]) -> (Out=no, Scope=no_scope) {
    sub_block=block(2), is_scalar_condition=true}
  cast(X=p) -> (Out=number) {in_dtype=0, out_dtype=2}
  select_input(X=[no, yes], Mask=number) -> (Out=out)
}
block 1 parent=0 {
  var a f32[3,2]
  var b f32[3,2]
  mul(X=h, Y=w) -> (Out=a)
  elementwise_mul(X=a, Y=h) -> (Out=b)
  assign(X=b) -> (Out=yes)
}
block 2 parent=0 {
  var a f32[3,2]
  mul(X=h, Y=v) -> (Out=a)
  square(X=a) -> (Out=no)
}
)";

// A recurrent net over sequences of those lengths, step by step as DynamicRNN writes it.
GradientCase Recurrent(const std::string& name, const std::vector<int>& lengths) {
  int rows = 0;
  std::string offsets = "0";
  for (const int length : lengths) absl::StrAppend(&offsets, ",", rows += length);
  std::string values;
  for (int i = 0; i < 2 * rows; ++i) absl::StrAppend(&values, " ", (i * 37 % 19 - 9) / 8.0);
  return {
      name,
      absl::StrReplaceAll(R"(program
block 0 {
  var x f32[ROWS,2] lod=1 persistable
  var m f32[COUNT,2] persistable
  var w f32[2,2] persistable
  var u f32[2,2] persistable
  var b f32[2] persistable
  var table lod_rank_table
  var longest i64[1]
  var i i64[1]
  var zero i64[1]
  var goes_on bool[1]
  var scopes step_scopes
  var inputs tensor_array f32[-1,2]
  var states tensor_array f32[-1,2]
  var outputs tensor_array f32[-1,2]
  var out f32[ROWS,2] lod=1
  fill_constant() -> (Out=i) {shape=[1L], dtype=3, value=0.0}
  fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
  lod_rank_table(X=x) -> (Out=table)
  max_sequence_len(RankTable=table) -> (Out=longest)
  less_than(X=i, Y=longest) -> (Out=goes_on)
  lod_tensor_to_array(X=x, RankTable=table) -> (Out=inputs)
  write_to_array(X=m, I=zero) -> (Out=states)
  while(X=[inputs, states, i, longest, table, w, u, b], Condition=goes_on) -> (Out=[states, outputs, i, goes_on], StepScopes=scopes) {
    sub_block=block(1)}
  array_to_lod_tensor(X=outputs, RankTable=table) -> (Out=out)
}
block 1 parent=0 {
  var input f32[-1,2]
  var last f32[-1,2]
  var state f32[-1,2]
  var of_input f32[-1,2]
  var of_state f32[-1,2]
  var both f32[-1,2]
  var biased f32[-1,2]
  var next f32[-1,2]
  read_from_array(X=inputs, I=i) -> (Out=input)
  read_from_array(X=states, I=i) -> (Out=last)
  shrink_rnn_memory(X=last, RankTable=table, I=i) -> (Out=state)
  mul(X=input, Y=w) -> (Out=of_input)
  mul(X=state, Y=u) -> (Out=of_state)
  sum(X=[of_input, of_state]) -> (Out=both)
  elementwise_add(X=both, Y=b) -> (Out=biased) {axis=1}
  tanh(X=biased) -> (Out=next)
  write_to_array(X=next, I=i) -> (Out=outputs)
  increment(X=i) -> (Out=i) {step=1.0}
  write_to_array(X=next, I=i) -> (Out=states)
  less_than(X=i, Y=longest) -> (Out=goes_on)
}
)",
                          {{"ROWS", absl::StrCat(rows)}, {"COUNT", absl::StrCat(lengths.size())}}),
      absl::StrCat("x f64[", rows, ",2] lod={", offsets, "}", values)};
}

// Turn i reads states[i] and writes states[i + 1]; BODY and AFTER read more of them.
constexpr char kStates[] = R"(program
block 0 {
  var x f32[3,2] persistable
  var w f32[2,2] persistable
  var i i64[1]
  var n i64[1]
  var zero i64[1]
  var one i64[1]
  var goes_on bool[1]
  var scopes step_scopes
  var states tensor_array f32[3,2]
  var first f32[3,2]
  var second f32[3,2]
  var last f32[3,2]
  var out f32[3,2]
  fill_constant() -> (Out=i) {shape=[1L], dtype=3, value=0.0}
  fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
  fill_constant() -> (Out=one) {shape=[1L], dtype=3, value=1.0}
  fill_constant() -> (Out=n) {shape=[1L], dtype=3, value=3.0}
  less_than(X=i, Y=n) -> (Out=goes_on)
  write_to_array(X=x, I=zero) -> (Out=states)
  while(X=[states, i, n, w, zero], Condition=goes_on) -> (Out=[states, i, goes_on], StepScopes=scopes) {
    sub_block=block(1)}
  read_from_array(X=states, I=n, X_W=x) -> (Out=last)
  AFTER
}
block 1 parent=0 {
  var state f32[3,2]
  var other f32[3,2]
  var p f32[3,2]
  var q f32[3,2]
  var next f32[3,2]
  read_from_array(X=states, I=i) -> (Out=state)
  mul(X=state, Y=w) -> (Out=p)
  tanh(X=p) -> (Out=q)
  BODY
  increment(X=i) -> (Out=i) {step=1.0}
  write_to_array(X=next, I=i) -> (Out=states)
  less_than(X=i, Y=n) -> (Out=goes_on)
}
)";

// A recurrent net as StaticRNN writes it; x is read in each step, and so is w.
constexpr char kSteps[] = R"(program
block 0 {
  var x f32[4,3,2] persistable
  var m f32[3,2] persistable
  var w f32[2,2] persistable
  var u f32[2,2] persistable
  var out f32[4,3,2]
  var scopes step_scopes
  recurrent(inputs=x, initial_states=m, parameters=[w, u]) -> (outputs=out, step_scopes=scopes) {
    sub_block=block(1), ex_states=["before"], states=["after"], has_states=true}
}
block 1 parent=0 {
  var x f32[3,2]
  var before f32[3,2]
  var of_input f32[3,2]
  var of_state f32[3,2]
  var both f32[3,2]
  var next f32[3,2]
  var after f32[3,2]
  var out f32[3,2]
  mul(X=x, Y=w) -> (Out=of_input)
  mul(X=before, Y=u) -> (Out=of_state)
  elementwise_add(X=of_input, Y=of_state) -> (Out=both)
  tanh(X=both) -> (Out=next)
  assign(X=next) -> (Out=after)
  elementwise_mul(X=next, Y=before) -> (Out=out)
}
)";

}  // namespace

std::vector<GradientCase> BlockGradientCases() {
  const std::string loop = absl::StrCat(kBody, kCounts);
  const std::string inner_loop =
      absl::StrCat(kInnerLoop, "assign(X=q) -> (Out=h)\n", kCounts, "block 2 parent=1 {\n",
                   "var p f32[3,2]\nvar t f32[3,2]\nvar q f32[3,2]\n",
                   absl::StrReplaceAll(kBody, {{"=h", "=k"}}),
                   "increment(X=j) -> (Out=j) {step=1.0}\n"
                   "less_equal(X=j, Y=i) -> (Out=inner_goes_on)\n}\n");
  return {
      {"while", Loop(3, loop)},
      {"while_of_one_turn", Loop(1, loop)},
      {"while_of_no_turns", Loop(0, loop)},
      // The counter is overwritten, and the gradient of the loop reads none of it.
      {"while_with_a_new_counter", Loop(2, absl::StrCat(kBody, R"(
          scale(X=i) -> (Out=next) {bias=1.0}
          less_than(X=next, Y=n) -> (Out=goes_on)
          assign(X=next) -> (Out=i)
        })"))},
      // What one variable is in a turn the other is in the next one.
      {"while_that_exchanges",
       absl::StrReplaceAll(Loop(3, absl::StrCat(R"(
          mul(X=h, Y=w) -> (Out=p)
          tanh(X=p) -> (Out=t)
          assign(X=g) -> (Out=q)
          assign(X=t) -> (Out=g)
          assign(X=q) -> (Out=h)
        )",
                                                kCounts)),
                           {{"var h f32[3,2]", "var h f32[3,2]\nvar g f32[3,2]"},
                            {"{scale=0.5}", "{scale=0.5}\nsquare(X=x) -> (Out=g)"},
                            {"[h, x,", "[h, g, x,"},
                            {"(Out=[h,", "(Out=[h, g,"}})},
      // What the loop begins with is there because a block ran.
      {"while_of_what_a_block_made",
       absl::StrReplaceAll(
           absl::StrCat(Loop(2, loop),
                        "block 2 parent=0 {\nscale(X=x) -> (Out=h) {scale=0.5}\n}\n"),
           {{"var h f32[3,2]", "var h f32[3,2]\nvar made bool[1]\nvar made_scope step_scopes"},
            {"scale(X=x) -> (Out=h) {scale=0.5}\n  fill",
             "conditional_block(Cond=made, Input=x) -> (Out=h, Scope=made_scope) "
             "{sub_block=block(2), is_scalar_condition=true}\n  fill"}}),
       "made bool[1] 1"},
      {"while_in_a_while", Loop(2, inner_loop)},
      {"conditional_in_a_while", Loop(3, absl::StrCat(kChoice, kCounts, kChoices))},
      {"conditional_that_runs", kConditional, "p bool[1] 1"},
      {"conditional_that_does_not_run", kConditional, "p bool[1] 0"},
      {"array_of_states", absl::StrReplaceAll(kStates, {{"BODY", "square(X=q) -> (Out=next)"},
                                                        {"AFTER", "square(X=last) -> (Out=out)"}})},
      {"array_of_states_that_is_read_after_the_loop",
       absl::StrReplaceAll(kStates, {{"BODY", "square(X=q) -> (Out=next)"}, {"AFTER", R"(
          read_from_array(X=states, I=zero, X_W=x) -> (Out=first)
          read_from_array(X=states, I=one, X_W=x) -> (Out=second)
          sum(X=[first, second, last]) -> (Out=out))"}})},
      {"array_of_states_that_a_turn_reads_twice",
       absl::StrReplaceAll(kStates, {{"BODY", R"(
          read_from_array(X=states, I=zero) -> (Out=other)
          elementwise_mul(X=q, Y=other) -> (Out=next))"},
                                     {"AFTER", "square(X=last) -> (Out=out)"}})},
      // Each turn writes over what it read.
      {"array_of_one_state",
       absl::StrReplaceAll(kStates,
                           {{"BODY", "square(X=q) -> (Out=next)"},
                            {"I=i) -> (Out=state)", "I=zero) -> (Out=state)"},
                            {"write_to_array(X=next, I=i)", "write_to_array(X=next, I=zero)"},
                            {"X=states, I=n,", "X=states, I=zero,"},
                            {"AFTER", "square(X=last) -> (Out=out)"}})},
      {"steps", kSteps},
      {"steps_that_hand_on_a_copy", absl::StrReplaceAll(kSteps, {{"assign", "rnn_memory_helper"}})},
      {"steps_in_reverse",
       absl::StrReplaceAll(kSteps, {{"has_states=true", "has_states=true, reverse=true"}})},
      {"one_step", absl::StrReplaceAll(kSteps, {{"[4,3,2]", "[1,3,2]"}})},
      // A state that the block reads, and that is an output too.
      {"steps_whose_output_is_their_state",
       absl::StrReplaceAll(kSteps, {{"[\"after\"]", "[\"out\"]"}})},
      {"steps_with_two_states",
       absl::StrReplaceAll(kSteps, {{"initial_states=m", "initial_states=[m, m]"},
                                    {"[\"before\"]", "[\"before\", \"second\"]"},
                                    {"[\"after\"]", "[\"after\", \"next\"]"},
                                    {"var next", "var second f32[3,2]\nvar next"},
                                    {"Y=before) -> (Out=out)", "Y=second) -> (Out=out)"}})},
      {"steps_without_states", absl::StrReplaceAll(kSteps, {{"initial_states=m, ", ""},
                                                            {"[\"before\"]", "strings[]"},
                                                            {"[\"after\"]", "strings[]"},
                                                            {"Y=before", "Y=x"},
                                                            {"X=before", "X=x"},
                                                            {"has_states=true", "has_states=false"},
                                                            {"var m f32[3,2] persistable", ""},
                                                            {"var before f32[3,2]", ""}})},
      Recurrent("recurrent_steps", {2, 3, 1}),
      Recurrent("recurrent_steps_of_one_sequence", {4}),
  };
}

}  // namespace fixpoint::reference
