#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

Program Parsed(const std::string& text) {
  absl::StatusOr<ProgramDesc> desc = ParseProgramText(text, "program");
  EXPECT_TRUE(desc.ok()) << desc.status();
  absl::StatusOr<Program> program = Program::Create(*std::move(desc), "program");
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

std::string Product(const std::string& attributes) {
  return "program\nblock 0 {\n"
         "  var x f32[-1,4]\n"
         "  var w f32[4,4] persistable\n"
         "  var y f32[-1,4]\n"
         "  mul(X=x, Y=w) -> (Out=y)" +
         attributes + "\n}\n";
}

// Quantizes the program, loses the edit log, as a tool does that knows no such field, and undoes.
std::string UndoneWithoutLog(const std::string& text) {
  Program program = Parsed(text);
  EXPECT_TRUE(Transpile(&program).ok());
  EXPECT_NE(PrintProgram(program.Proto()), text);
  program.ClearEditLog();
  program.ForgetEdits();
  const absl::Status status = Untranspile(&program);
  EXPECT_TRUE(status.ok()) << status;
  return PrintProgram(program.Proto());
}

TEST(UndoByMarks, TakesTheReferencesOwnMarksAway) {
  EXPECT_EQ(UndoneWithoutLog(Product("")), Product(""));
}

TEST(UndoByMarks, PutsBackWhatTheReferencesMarksWere) {
  const std::string text = Product(" {quantization_type=\"\", with_quant_attr=false}");
  EXPECT_EQ(UndoneWithoutLog(text), text);
}

TEST(UndoByMarks, PutsBackMarksOfOtherTypes) {
  const std::string text = Product(" {quantization_type=[\"a\", \"b=c\"], with_quant_attr=1L}");
  EXPECT_EQ(UndoneWithoutLog(text), text);
}

TEST(UndoByMarks, AttributeThatAnotherToolDroppedStaysAway) {
  Program program =
      Parsed(Product(" {x_num_col_dims=1, fixpoint.rewired=[\"with_quant_attr=true\"]}"));
  ASSERT_TRUE(Untranspile(&program).ok());
  EXPECT_EQ(PrintProgram(program.Proto()), Product(" {x_num_col_dims=1}"));
}

TEST(UndoByMarks, MarkThatDoesNotFitIsAnError) {
  const struct {
    std::string mark;
    std::string attribute;
  } kCases[] = {
      {"with_quant_attr=maybe", "with_quant_attr=true"},
      {"activation_bits=many", "activation_bits=8"},
      {"scales=[1", "scales=[1]"},
      {"scales=block(0)", "scales=[1]"},
      {"Z.0=x", "activation_bits=8"},
      {"=x", "activation_bits=8"},
      {"X.0", "activation_bits=8"},
  };
  for (const auto& [mark, attribute] : kCases) {
    const std::string text = Product(" {" + attribute + ", fixpoint.rewired=[\"" + mark + "\"]}");
    Program program = Parsed(text);
    EXPECT_EQ(Untranspile(&program),
              absl::InvalidArgumentError("program: block 0, op 0 (mul): the mark \"" + mark +
                                         "\" of fixpoint.rewired does not fit the op"));
    EXPECT_EQ(PrintProgram(program.Proto()), text);
  }
}

}  // namespace
}  // namespace fixpoint
