// The cases of ops that compute on sequences, cut by offsets or padded.

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/gradient_cases.h"

namespace fixpoint::reference {
namespace {

// A sequence of two rows and one of one.
constexpr char kSequences[] = "x f64[3,2] lod={0,2,3} 0.5 -1 1.5 2 -0.25 1";

GradientCase SequencePool(const std::string& type) {
  return {"sequence_pool_" + type,
          R"(
            var x f32[3,2] lod=1 persistable
            var out f32[2,2]
            sequence_pool(X=x) -> (Out=out, MaxIndex=i) {pooltype=")" +
              type + "\"}",
          kSequences};
}

// Projections of a sequence of two rows, one of none and one of one.
std::string Gated(int gates) {
  std::string text = "x f64[3," + std::to_string(2 * gates) + "] lod={0,2,2,3}";
  for (int i = 0; i < 6 * gates; ++i) text += " " + std::to_string((i * 37 % 19 - 9) / 8.0);
  return text;
}

GradientCase Lstm(const std::string& name, int biases, const std::string& attrs) {
  return {"lstm" + name,
          "var x f32[3,8] lod=1 persistable\nvar w f32[2,8] persistable\nvar b f32[1," +
              std::to_string(biases) +
              "] persistable\nvar h0 f32[3,2] persistable\nvar c0 f32[3,2] persistable\n"
              "var out f32[3,2]\n"
              "lstm(Input=x, H0=h0, C0=c0, Weight=w, Bias=b) -> (Hidden=out, Cell=c, BatchGate=g, "
              "BatchCellPreAct=p) {" +
              attrs + "}",
          Gated(4)};
}

// A state of 3 that is projected from cells of 2.
GradientCase Lstmp(const std::string& name, int biases, const std::string& attrs) {
  return {"lstmp" + name,
          "var x f32[3,8] lod=1 persistable\nvar w f32[3,8] persistable\n"
          "var p f32[2,3] persistable\nvar b f32[1," +
              std::to_string(biases) +
              "] persistable\nvar h0 f32[3,3] persistable\nvar c0 f32[3,2] persistable\n"
              "var out f32[3,3]\n"
              "lstmp(Input=x, H0=h0, C0=c0, Weight=w, ProjWeight=p, Bias=b) -> (Projection=out, "
              "Cell=c, BatchGate=g, BatchCellPreAct=a, BatchHidden=k) {" +
              attrs + "}",
          Gated(4),
          {},
          {1008005}};
}

GradientCase Gru(const std::string& name, const std::string& attrs) {
  return {"gru" + name,
          "var x f32[3,6] lod=1 persistable\nvar w f32[2,6] persistable\n"
          "var b f32[1,6] persistable\nvar h0 f32[3,2] persistable\nvar out f32[3,2]\n"
          "gru(Input=x, H0=h0, Weight=w, Bias=b) -> (Hidden=out, BatchGate=g, "
          "BatchResetHiddenPrev=r, BatchHidden=k) {" +
              attrs + "}",
          Gated(3)};
}

// Two layers of width 2 over 3 steps of a batch of 2, in both directions.
GradientCase Rnn(const std::string& mode, int gates, const std::string& lengths) {
  const std::string rows = std::to_string(2 * gates);
  std::string program = "var x f32[3,2,3] persistable\nvar h0 f32[4,2,2] persistable\n";
  const std::string states = mode == "LSTM" ? "[h0, c0]" : "[h0]";
  if (mode == "LSTM") program += "var c0 f32[4,2,2] persistable\n";
  if (!lengths.empty()) program += "var n i32[2]\n";
  std::string weights;
  for (int i = 0; i < 16; ++i) {
    const std::string name = "w" + std::to_string(i);
    const std::string columns = i >= 8 ? "" : i % 2 == 1 ? ",2" : i < 4 ? ",3" : ",4";
    program += "var " + name + " f32[" + rows + columns + "] persistable\n";
    weights += (i == 0 ? "" : ", ") + name;
  }
  program += "rnn(Input=x, PreState=" + states + ", WeightList=[" + weights + "]" +
             (lengths.empty() ? "" : ", SequenceLength=n") +
             ") -> (Out=y, State=" + (mode == "LSTM" ? "[h, c]" : "[h]") +
             ", Reserve=r, DropoutState=d) {mode=\"" + mode +
             "\", num_layers=2, hidden_size=2, input_size=3, is_bidirec=true}\n"
             "reshape2(X=y) -> (Out=a, XShape=as) {shape=[12, 2]}\n"
             "reshape2(X=h) -> (Out=b, XShape=bs) {shape=[8, 2]}\n" +
             (mode == "LSTM" ? "reshape2(X=c) -> (Out=e, XShape=es) {shape=[8, 2]}\n" : "") +
             "concat(X=[a, b" + (mode == "LSTM" ? ", e" : "") + "]) -> (Out=out) {axis=0}";
  return {"rnn_of_" + mode + (lengths.empty() ? "" : "_with_lengths"), program,
          lengths.empty() ? "" : "n i32[2] " + lengths};
}

}  // namespace

std::vector<GradientCase> SequenceGradientCases() {
  return {
      SequencePool("AVERAGE"),
      SequencePool("SUM"),
      SequencePool("SQRT"),
      SequencePool("MAX"),
      SequencePool("LAST"),
      SequencePool("FIRST"),
      {"sequence_conv", R"(
         var x f32[3,2] lod=1 persistable
         var w f32[6,2] persistable
         sequence_conv(X=x, Filter=w) -> (Out=out) {contextLength=3, contextStart=-1})",
       kSequences},
      Lstm("", 14, ""),
      Lstm("_reversed", 14, "is_reverse=true"),
      Lstm("_without_peepholes", 8, "use_peepholes=false, candidate_activation=\"sigmoid\""),
      Gru("", ""),
      Gru("_reversed", "is_reverse=true"),
      Gru("_in_origin_mode", "origin_mode=true, activation=\"identity\""),
      Lstmp("", 14, ""),
      Lstmp("_backwards", 8, "use_peepholes=false, is_reverse=true, proj_activation=\"identity\""),
      Lstmp("_clipped", 14, "cell_clip=0.4, proj_clip=0.3"),
      {"gru_unit", R"(
         var x f32[3,6] persistable
         var h0 f32[3,2] persistable
         var w f32[2,6] persistable
         var b f32[1,6] persistable
         gru_unit(Input=x, HiddenPrev=h0, Weight=w, Bias=b) -> (Gate=g, ResetHiddenPrev=r,
           Hidden=out))"},
      {"lstm_unit", R"(
         var x f32[3,8] persistable
         var c0 f32[3,2] persistable
         lstm_unit(X=x, C_prev=c0) -> (C=c, H=h) {forget_bias=0.5}
         elementwise_mul(X=c, Y=h) -> (Out=out))"},
      Rnn("LSTM", 4, ""),
      Rnn("LSTM", 4, "3 1"),
      Rnn("GRU", 3, ""),
      Rnn("GRU", 3, "2 3"),
      Rnn("RNN_TANH", 1, "1 3"),
      {"sequence_reverse", R"(
         var x f32[3,2] lod=1 persistable
         var out f32[3,2]
         sequence_reverse(X=x) -> (Y=out))",
       kSequences},
      {"sequence_concat", R"(
         var x f32[3,2] lod=1 persistable
         var out f32[6,2]
         sequence_concat(X=[x, x]) -> (Out=out))",
       kSequences},
      {"sequence_expand", R"(
         var x f32[3,2] lod=1 persistable
         var y f32[3,1] lod=1
         var out f32[5,2]
         sequence_expand(X=x, Y=y) -> (Out=out))",
       absl::StrCat(kSequences, "\ny f32[3,1] lod={0,2,3} 0 0 0")},
      {"sequence_expand_as", R"(
         var x f32[2,2] persistable
         var y f32[3,1] lod=1
         var out f32[3,2]
         sequence_expand_as(X=x, Y=y) -> (Out=out))",
       "y f32[3,1] lod={0,2,3} 0 0 0"},
      {"sequence_pad", R"(
         var x f32[3,2] lod=1 persistable
         var p f32[1]
         var out f32[2,3,2]
         sequence_pad(X=x, PadValue=p) -> (Out=out, Length=n) {padded_length=3})",
       absl::StrCat(kSequences, "\np f32[1] 0.5")},
      {"sequence_reshape", R"(
         var x f32[3,2] lod=1 persistable
         var out f32[6,1]
         sequence_reshape(X=x) -> (Out=out) {new_dim=1})",
       kSequences},
      {"sequence_slice", R"(
         var x f32[3,2] lod=1 persistable
         var offset i64[2,1] stop_gradient
         var length i64[2,1] stop_gradient
         var out f32[2,2]
         fill_constant() -> (Out=offset) {shape=[2, 1], dtype=3, value=0.0}
         fill_constant() -> (Out=length) {shape=[2, 1], dtype=3, value=1.0}
         sequence_slice(X=x, Offset=offset, Length=length) -> (Out=out))",
       kSequences},
      {"lod_reset", R"(
         var x f32[3,2] lod=1 persistable
         lod_reset(X=x) -> (Out=out) {target_lod=[0, 1, 3]})",
       kSequences},
      {"row_conv", R"(
         var x f32[3,2] lod=1 persistable
         var w f32[2,2] persistable
         row_conv(X=x, Filter=w) -> (Out=out))",
       kSequences},
      {"im2sequence", R"(
         var x f32[1,2,3,4] persistable
         var out f32[6,8]
         im2sequence(X=x) -> (Out=out) {kernels=[2, 2], strides=[2, 2], paddings=[1, 0, 0, 2]})"},
      {"linear_chain_crf", R"(
         var x f32[3,2] lod=1 persistable
         var w f32[4,2] persistable
         var label i64[3,1]
         var out f32[2,1]
         linear_chain_crf(Emission=x, Transition=w, Label=label) -> (LogLikelihood=out, Alpha=a,
           EmissionExps=e, TransitionExps=t))",
       absl::StrCat(kSequences, "\nlabel i64[3,1] 1 0 1")},
      {"linear_chain_crf_of_padded_sequences", R"(
         var x f32[2,3,2] persistable
         var w f32[4,2] persistable
         var label i64[2,3]
         var n i64[2,1]
         var out f32[2,1]
         linear_chain_crf(Emission=x, Transition=w, Label=label, Length=n) -> (LogLikelihood=out,
           Alpha=a, EmissionExps=e, TransitionExps=t))",
       "label i64[2,3] 1 0 1 0 1 0\nn i64[2,1] 3 2"},
  };
}

}  // namespace fixpoint::reference
