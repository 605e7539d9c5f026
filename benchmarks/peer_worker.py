#!/usr/bin/env python3
"""A worker (benchmarks/worker.h) that runs models of ONNX Runtime or OpenVINO on one thread. A load
names the file, {"cmd": "load", "slot": "a", "path": "m.onnx", "shape": [1, 3, 32, 32]}, and is
answered with the time to the first output, without that in which the images are made up, the
process's peak memory, and that before the load.

  peer_worker.py onnxruntime|openvino
"""

import json
import sys
import time

import numpy


def _onnxruntime():
    import onnxruntime

    def load(path, images):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda: session.run(None, {"x": images})

    return load


def _openvino():
    import openvino
    core = openvino.Core()

    def load(path, images):
        compiled = core.compile_model(path, "CPU", {
            "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32"})
        request = compiled.create_infer_request()
        request.set_input_tensor(openvino.Tensor(images, shared_memory=True))

        def run(kept=(compiled, images)):  # which the request reads
            request.infer()

        return run

    return load


def _peak_megabytes():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def main(peer):
    load = {"onnxruntime": _onnxruntime, "openvino": _openvino}[peer]()
    runs = {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["cmd"] == "load":
            before = _peak_megabytes()
            images = numpy.random.default_rng(1).standard_normal(request["shape"], "float32")
            begin = time.perf_counter()
            run = runs[request["slot"]] = load(request["path"], images)
            run()
            answer = {"load_s": time.perf_counter() - begin, "peak_mb": _peak_megabytes(),
                      "import_mb": before}
        elif request["cmd"] == "time":
            begin = time.process_time()
            for _ in range(request["iters"]):
                runs[request["slot"]]()
            answer = {"cpu_ms": 1e3 * (time.process_time() - begin) / request["iters"]}
        else:
            del runs[request["slot"]]
            answer = {}
        print(json.dumps({"ok": True, **answer}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
