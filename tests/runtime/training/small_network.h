// A network that learns to distinguish two kinds of images of two pixels, with dropout, so that its
// steps draw random numbers.

#ifndef FIXPOINT_TESTS_RUNTIME_TRAINING_SMALL_NETWORK_H_
#define FIXPOINT_TESTS_RUNTIME_TRAINING_SMALL_NETWORK_H_

#include <cstdint>
#include <vector>

#include "proto/program/program.h"
#include "runtime/data/image_samples.h"

namespace fixpoint {

struct SmallNetwork {
  SmallNetwork();

  Program main;
  Program startup;
  Program test;  // the forward part of main, without dropout
};

// Images [count,1,1,2] of pixels that follow a fixed rule; the label says which is the brighter.
ImageSamples BrighterPixelSet(int64_t count);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_RUNTIME_TRAINING_SMALL_NETWORK_H_
