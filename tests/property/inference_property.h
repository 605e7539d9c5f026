// What must hold for test programs and frozen ones, whatever was transpiled.

#ifndef FIXPOINT_TESTS_PROPERTY_INFERENCE_PROPERTY_H_
#define FIXPOINT_TESTS_PROPERTY_INFERENCE_PROPERTY_H_

#include <cstdint>
#include <string>

#include "tests/property/transpile_property.h"

namespace fixpoint {

// The first property that does not hold of the transpiled program with random parameters; "" where
// all hold, and where nothing is quantized:
//   test        a test program is made, and verifies if what was transpiled does
//   freeze      to the last value of the forward part, in each of the three forms, succeeds
//   verifies    without an error
//   parameters  are those that the frozen program declares, of its types and extents
//   captures    no parameter is there only because an op lists it for a block that it runs
//   untouched   neither program nor parameters are changed by freezing
std::string FirstBrokenInferenceProperty(const TranspileCase& tried);

// The case of a seed, as ReportOfSeed.
std::string InferenceReportOfSeed(uint64_t seed);

// What does not hold of the transpiled program of a seed with one or two random mistakes in it, of
// ten such programs the first; "" where all holds: a test program is made of it, and a frozen one
// in each form, or it is refused, as a mistake of the program.
std::string DamagedReportOfSeed(uint64_t seed);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_PROPERTY_INFERENCE_PROPERTY_H_
