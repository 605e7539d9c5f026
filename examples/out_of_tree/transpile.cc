// transpile with everything of one's own linked in.

#include "extend.h"
#include "tools/transpile_main.h"

int main(int argc, char** argv) {
  return fixpoint::TranspileMain(argc, argv, &out_of_tree::Extend);
}
