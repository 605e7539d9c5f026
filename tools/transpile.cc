// transpile: rewrites a program, and reports what was done.

#include "tools/transpile_main.h"

int main(int argc, char** argv) { return fixpoint::TranspileMain(argc, argv); }
