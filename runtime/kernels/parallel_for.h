// Loops of vectorised.h, split among the threads that kernels run on. How the work is split changes
// no bits: a loop writes each place once, and sums are made in pieces that depend on the loop's
// size alone and are combined in order.

#ifndef FIXPOINT_RUNTIME_KERNELS_PARALLEL_FOR_H_
#define FIXPOINT_RUNTIME_KERNELS_PARALLEL_FOR_H_

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/threads.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {

// Calls f(begin, end) with parts of [0, size) that together are all of it, on ThreadsFor threads.
// What f calls is inlined, as by Vectorised. If there are many, 1024 for each thread or more, parts
// begin at multiples of 64, so that no two share a cache line even of bytes, and parts still differ
// by a sixteenth at most.
template <typename F>
void ParallelFor(int64_t size, int64_t bytes_of_each, F f) {
  const int threads = ThreadsFor(size, bytes_of_each);
  const auto run = [=](int64_t begin, int64_t end) { Vectorised([=] { f(begin, end); }); };
  if (threads == 1) return run(0, size);
  const int64_t unit = size >= int64_t{1024} * threads ? 64 : 1;
  const int64_t units = (size + unit - 1) / unit;
  RunOnThreads(threads, units, [=](int, int64_t begin, int64_t end) {
    run(begin * unit, std::min(size, end * unit));
  });
}

// The number of pieces that a loop over `size` elements is combined from: one for every 65,536, so
// that a piece is worth waking a thread. The machine is not asked: the pieces decide the bits.
inline constexpr int64_t kMostPieces = 32;
inline int64_t PiecesOf(int64_t size) { return std::clamp<int64_t>(size >> 16, 1, kMostPieces); }

// Calls f(piece, begin, end) for each piece of [0, size), as ParallelFor calls it.
template <typename F>
void ForEachPiece(int64_t size, int64_t bytes_of_each, F f) {
  const int64_t pieces = PiecesOf(size);
  ParallelFor(pieces, size * bytes_of_each / pieces, [=](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      f(piece, size * piece / pieces, size * (piece + 1) / pieces);
    }
  });
}

// What the pieces gave, combined in order in place of the first.
template <typename How>
double CombinePieces(int64_t size, double* of_pieces) {
  for (int64_t piece = 1; piece < PiecesOf(size); ++piece) {
    of_pieces[0] = How::Combine(of_pieces[0], of_pieces[piece]);
  }
  return of_pieces[0];
}

// Like LaneFold of lane_sums.h.
template <typename How, typename Term>
double ParallelFold(int64_t size, int64_t bytes_of_each, Term term) {
  double of_pieces[kMostPieces];
  ForEachPiece(
      size, bytes_of_each, [=, folded = &of_pieces[0]](int64_t piece, int64_t begin, int64_t end) {
        folded[piece] = LaneFold<How>(end - begin, [=](int64_t i) { return term(begin + i); });
      });
  return CombinePieces<How>(size, of_pieces);
}

template <typename Term>
double ParallelSum(int64_t size, int64_t bytes_of_each, Term term) {
  return ParallelFold<LaneAdd>(size, bytes_of_each, term);
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PARALLEL_FOR_H_
