// Ops that run a block: a few steps of one value, once or until a count is reached.

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

// Ops of `value`, which they write.
void AddSteps(CaseMaker& c, const std::string& value, const std::string& weights) {
  for (int steps = c.Between(1, 3); steps > 0; --steps) {
    switch (c.Between(0, 3)) {
      case 0:
        c.Block("  mul(X=", value, ", Y=", weights, ") -> (Out=", value, ")");
        break;
      case 1:
        c.Block("  relu(X=", value, ") -> (Out=", value, ")");
        break;
      case 2:
        c.Block("  scale(X=", value, ") -> (Out=", value,
                ") {scale=", FloatText(c.Between(-1.0f, 1.0f)), ", bias=0.5}");
        break;
      default:
        c.Block("  elementwise_add(X=", value, ", Y=", value, ") -> (Out=", value, ")");
    }
  }
}

void Conditional(CaseMaker& c) {
  const int64_t size = c.Between(1, 20);
  const std::string x = c.Numbers({c.Between(1, 9), size});
  const std::string w = c.Numbers({size, size}, -0.5f, 0.5f);
  const std::string condition = c.Integers(VarType::BOOL, {1}, 0, 1);
  c.Op("conditional_block(Cond=", condition, ", Input=[", x, ", ", w, "]) -> (Out=[", x,
       "], Scope=[]) {sub_block=block(1), is_scalar_condition=true}");
  c.Block("block 1 parent=0 {");
  AddSteps(c, x, w);
  c.Block("}");
  c.Fetch({x});
  c.Sums(3 * size);
}

void While(CaseMaker& c) {
  const int64_t size = c.Between(1, 20);
  const std::string x = c.Numbers({c.Between(1, 9), size});
  const std::string w = c.Numbers({size, size}, -0.5f, 0.5f);
  const std::string last = c.Integers(VarType::INT64, {1}, 0, 4);
  c.Op("fill_constant() -> (Out=turn) {shape=[1L], dtype=3, value=0.0}");
  c.Op("less_than(X=turn, Y=", last, ") -> (Out=going)");
  c.Op("while(X=[", x, ", ", w, ", ", last, ", turn], Condition=going) -> (Out=[", x,
       ", going, turn], StepScopes=[]) {sub_block=block(1)}");
  c.Block("block 1 parent=0 {");
  AddSteps(c, x, w);
  c.Block("  increment(X=turn) -> (Out=turn) {step=1.0}");
  c.Block("  less_than(X=turn, Y=", last, ") -> (Out=going)\n}");
  c.Fetch({x, "turn"});
  c.Sums(12 * size);
}

// Running sums of the steps of a sequence, scaled.
void Recurrent(CaseMaker& c) {
  const int64_t rows = c.Between(1, 4);
  const int64_t size = c.Between(1, 9);
  const std::string x = c.Numbers({c.Between(1, 5), rows, size});
  const std::string first = c.Numbers({rows, size});
  c.Op("recurrent(inputs=", x, ", initial_states=", first,
       ") -> (outputs=sums, step_scopes=[]) {sub_block=block(1), ex_states=[\"before\"], "
       "states=[\"after\"], has_states=true, reverse=",
       c.Between(0, 1) == 1 ? "true}" : "false}");
  c.Block("block 1 parent=0 {");
  for (const std::string& name : {x, std::string("before"), std::string("after"),
                                  std::string("scaled"), std::string("sums")}) {
    c.Block("  var ", name, " f32[", rows, ",", size, "]");
  }
  c.Block("  scale(X=before) -> (Out=scaled) {scale=", FloatText(c.Between(-1.0f, 1.0f)), "}");
  c.Block("  elementwise_add(X=", x, ", Y=scaled) -> (Out=after)");
  c.Block("  assign(X=after) -> (Out=sums)\n}");
  c.Fetch({"sums"});
  c.Sums(5);
}

// Each of two blocks writes one of the two variables, and one of the blocks runs.
void SelectInput(CaseMaker& c) {
  const int64_t size = c.Between(1, 20);
  const std::string x = c.Numbers({c.Between(1, 9), size});
  const std::string w = c.Numbers({size, size}, -0.5f, 0.5f);
  const std::string condition = c.Integers(VarType::BOOL, {1}, 0, 1);
  c.Op("conditional_block(Cond=", condition, ", Input=", x,
       ") -> (Out=first, Scope=[]) {sub_block=block(1), is_scalar_condition=true}");
  c.Op("logical_not(X=", condition, ") -> (Out=otherwise)");
  c.Op("conditional_block(Cond=otherwise, Input=", x,
       ") -> (Out=second, Scope=[]) {sub_block=block(2), is_scalar_condition=true}");
  c.Op("cast(X=", condition, ") -> (Out=mask) {in_dtype=0, out_dtype=2}");
  c.Op("select_input(X=[second, first], Mask=mask) -> (Out=chosen)");
  for (const char* written : {"first", "second"}) {
    c.Block("block ", *written == 'f' ? 1 : 2, " parent=0 {");
    c.Block("  scale(X=", x, ") -> (Out=", written, ") {scale=", FloatText(c.Between(-1.0f, 1.0f)),
            "}");
    AddSteps(c, written, w);
    c.Block("}");
  }
  c.Fetch({"chosen"});
  c.Sums(3 * size);
}

// Only the tensor that it chooses has a value afterwards.
void SelectOutput(CaseMaker& c) {
  const int chosen = c.Between(0, 1);
  const std::string x = c.Numbers({c.Between(1, 9), c.Between(1, 9)});
  const std::string mask = c.Integers(VarType::INT32, {1}, chosen, chosen);
  c.Op("select_output(X=", x, ", Mask=", mask, ") -> (Out=[out0, out1])");
  c.Fetch({chosen == 0 ? "out0" : "out1"});
}

}  // namespace

Generators BlockGenerators() {
  return {{"conditional_block", Conditional},
          {"while", While},
          {"recurrent", Recurrent},
          {"select_input", SelectInput},
          {"select_output", SelectOutput}};
}

}  // namespace fixpoint::random_cases
