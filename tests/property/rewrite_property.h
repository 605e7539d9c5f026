// What must hold when random programs are rewritten by the built-in patterns and by random ones.

#ifndef FIXPOINT_TESTS_PROPERTY_REWRITE_PROPERTY_H_
#define FIXPOINT_TESTS_PROPERTY_REWRITE_PROPERTY_H_

#include <cstdint>
#include <string>

namespace fixpoint {

struct RewriteOutcome {
  // The first property that does not hold, with the program; "" where all hold:
  //   rewrites   the patterns are applied, and the result verifies
  //   explained  a large program is the same where what fails is told, which tries all ops
  //   same       it computes the same, gradients of parameters included, up to the rounding of
  //              doubles
  //   gradients  are what differences of the loss say, at a random element
  //   again      the patterns match nothing any more
  //   undo       gives the program back, byte for byte
  std::string report;
  int replaced = 0;  // matches
  int replaced_with_gradients = 0;
  // Whether the program has gradients, and whether differences of the loss could say what the
  // chosen one is.
  bool has_gradients = false;
  bool gradient_is_checked = false;
};

// A program of random layers in which the ops of built-in patterns and of random identities
// (random_pattern.h) stand, some of whose inner values are read elsewhere too, with a backward pass
// or without.
RewriteOutcome RewriteOfSeed(uint64_t seed);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_PROPERTY_REWRITE_PROPERTY_H_
