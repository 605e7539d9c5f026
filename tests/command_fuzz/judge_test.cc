#include "tests/command_fuzz/judge.h"

#include <gtest/gtest.h>

#include <string>

namespace fixpoint {
namespace {

const Files kBefore = {{"p.txt", "program"}};

ToolCommand Command(const std::string& tool, std::vector<std::string> arguments = {"p.txt"}) {
  ToolCommand command;
  command.tool = tool;
  command.arguments = std::move(arguments);
  return command;
}

ToolRun Ended(int exit_code, const std::string& err = "") {
  ToolRun run;
  run.exit_code = exit_code;
  run.err = err;
  return run;
}

std::string Wrong(const ToolCommand& command, const ToolRun& run, const Files& after = kBefore) {
  return WhatIsWrong(command, run, kBefore, after).value_or("nothing");
}

TEST(Judge, AResultAndAnErrorOfTheInputAreRight) {
  EXPECT_EQ(Wrong(Command("transpile"), Ended(0)), "nothing");
  EXPECT_EQ(Wrong(Command("transpile"), Ended(3, "transpile: p.txt: is not a program\n")),
            "nothing");
}

TEST(Judge, ASignalADefectAndAHangAreFindings) {
  ToolRun crash = Ended(139);
  crash.signal = 11;
  EXPECT_EQ(Wrong(Command("infer"), crash), "signal 11");
  EXPECT_EQ(Wrong(Command("infer"), Ended(70, "infer: defect\n")), "exit 70");
  ToolRun hang = Ended(137);
  hang.signal = 9;
  hang.timed_out = true;
  EXPECT_EQ(Wrong(Command("infer"), hang), "a hang");
}

TEST(Judge, OnlyWhatAnswersAQuestionMayAnswerNo) {
  EXPECT_EQ(Wrong(Command("inspect", {"diff", "p.txt", "p.txt"}), Ended(1)), "nothing");
  EXPECT_EQ(Wrong(Command("inspect", {"cost", "p.txt"}), Ended(1)), "exit 1");
  EXPECT_EQ(Wrong(Command("transpile"), Ended(9)), "exit 9");
}

TEST(Judge, AnErrorHasAMessage) {
  EXPECT_EQ(Wrong(Command("train"), Ended(3)), "no message");
  EXPECT_EQ(Wrong(Command("train"), Ended(3, "train: \n")), "no message");
}

TEST(Judge, AnErrorLeavesTheFilesAsTheyWere) {
  const ToolRun error = Ended(4, "train: no\n");
  EXPECT_EQ(Wrong(Command("train"), error, {}), "files were changed");
  EXPECT_EQ(Wrong(Command("train"), error, {{"p.txt", "other"}}), "files were changed");
  const Files with_metrics = {{"p.txt", "program"}, {"m", "{}"}};
  EXPECT_EQ(Wrong(Command("train"), error, with_metrics), "files were changed");
  EXPECT_EQ(Wrong(Command("train", {"--metrics=m", "p.txt"}), error, with_metrics), "nothing");
}

TEST(Judge, WhatIsDoneLeavesTheOutputThatWasNamed) {
  EXPECT_EQ(Wrong(Command("transpile", {"--output=q", "p.txt"}), Ended(0)), "no output");
  EXPECT_EQ(Wrong(Command("transpile", {"--output=q", "--dry_run", "p.txt"}), Ended(0)), "nothing");
  EXPECT_EQ(Wrong(Command("transpile", {"--output=q", "--dry_run=1", "p.txt"}), Ended(0)),
            "nothing");
  EXPECT_EQ(Wrong(Command("transpile", {"--output=q", "--dry_run=false", "p.txt"}), Ended(0)),
            "no output");
}

TEST(Judge, ASanitizersReportIsAFinding) {
  const std::string report =
      "==1==ERROR: AddressSanitizer: heap-use-after-free\n"
      "    #0 0x1 in fixpoint::Lower(int) a.cc:1\n    #1 0x2 in main b.cc:2\n";
  const ToolRun run = Ended(1, report);
  EXPECT_EQ(Wrong(Command("infer"), run), "a sanitizer's report");
  EXPECT_EQ(SignatureOf(Command("infer"), run, "a sanitizer's report"),
            "infer, a sanitizer's report: fixpoint::Lower");
}

TEST(Judge, FindingsOfOneCauseHaveOneSignature) {
  const ToolCommand command = Command("infer");
  EXPECT_EQ(SignatureOf(command, Ended(70, "infer: op 3 reads \"x\"\n"), "exit 70"),
            SignatureOf(command, Ended(70, "infer: op 12 reads \"y_0\"\n"), "exit 70"));
  EXPECT_NE(SignatureOf(command, Ended(70, "infer: op 3 reads \"x\"\n"), "exit 70"),
            SignatureOf(command, Ended(70, "infer: op 3 writes \"x\"\n"), "exit 70"));
}

}  // namespace
}  // namespace fixpoint
