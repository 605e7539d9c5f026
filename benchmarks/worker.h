// A worker for a driver that times several tools in turn (benchmarks/beside_pytorch.py). A line of
// JSON comes in, a line goes out:
//
//   {"cmd": "info"}                                -> {"ok": true, "tool": "fixpoint"}
//   {"cmd": "load", "slot": "a", "model": "resnet20", "variant": "quantized", "batch": 128,
//    "threads": 1}                                 -> {"ok": true, "load_s": 0.2, ...}
//   {"cmd": "load", "slot": "b", "model": "folder/int8", "feeds": "feeds.npz"} of a worker of
//   models
//                                                 -> the same
//   {"cmd": "time", "slot": "a", "iters": 3}       -> {"ok": true, "wall_ms": 140, "cpu_ms": 139,
//   ...}
//   {"cmd": "drop", "slot": "a"}                   -> {"ok": true}
//   {"cmd": "exit"}
//
// Times are means of one run; what cannot be done is answered with {"ok": false, "err": why}.

#ifndef FIXPOINT_BENCHMARKS_WORKER_H_
#define FIXPOINT_BENCHMARKS_WORKER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace fixpoint {

class TimedWork {
 public:
  virtual ~TimedWork() = default;
  // Gives the processor time in seconds.
  virtual double Run() = 0;
};

struct WorkRequest {
  std::string network;  // of benchmarks/networks.h; a request may leave the underscores out
  std::string variant;
  int64_t batch = 1;
  int threads = 1;
};
using MakeWork = std::function<absl::StatusOr<std::unique_ptr<TimedWork>>(const WorkRequest&)>;

// A model that is saved, and the arrays that it is fed.
struct ModelRequest {
  std::string model;  // as LoadInferenceModel takes it (runtime/inference_model.h)
  std::string feeds;  // a file of arrays (runtime/data/array_samples.h)
};
using MakeModelWork =
    std::function<absl::StatusOr<std::unique_ptr<TimedWork>>(const ModelRequest&)>;

// Answers until the input ends or says so.
void ServeWork(const MakeWork& make_work);
void ServeModelWork(const MakeModelWork& make_work);

}  // namespace fixpoint

#endif  // FIXPOINT_BENCHMARKS_WORKER_H_
