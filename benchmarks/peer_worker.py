#!/usr/bin/env python3
"""A worker (benchmarks/worker.h) that runs models of ONNX Runtime, OpenVINO or Paddle Inference, on
one thread unless told. A load names the file, {"cmd": "load", "slot": "a", "path": "m.onnx",
"shape": [1, 3, 32, 32]}, or instead of the shape of images x "feeds": "feeds.npz", arrays by name and their lengths
(runtime/data/sequence_offsets.h). It is answered with the time to the first output, without that in
which the inputs are made up, the process's peak memory, and that before the load. Of Paddle
Inference the path is that without .pdmodel and .pdiparams.

  peer_worker.py onnxruntime|openvino|paddle [THREADS]
"""

import json
import sys
import time

import numpy

_LENGTHS = ".lengths"


def _onnxruntime(threads):
    import onnxruntime

    def load(path, feeds):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda: session.run(None, feeds)

    return load


def _openvino(threads):
    import openvino
    core = openvino.Core()

    def load(path, feeds):
        images = feeds["x"]
        compiled = core.compile_model(path, "CPU", {
            "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32"})
        request = compiled.create_infer_request()
        request.set_input_tensor(openvino.Tensor(images, shared_memory=True))

        def run(kept=(compiled, images)):  # which the request reads
            request.infer()

        return run

    return load


def _paddle(threads):
    from paddle import inference

    def load(path, feeds):
        config = inference.Config(path + ".pdmodel", path + ".pdiparams")
        config.disable_gpu()
        config.disable_glog_info()
        config.switch_ir_optim(True)
        config.enable_memory_optim()
        config.enable_mkldnn()
        config.set_cpu_math_library_num_threads(threads)
        predictor = inference.create_predictor(config)
        outputs = [predictor.get_output_handle(name) for name in predictor.get_output_names()]

        def run():
            for name in predictor.get_input_names():
                handle = predictor.get_input_handle(name)
                handle.copy_from_cpu(feeds[name])
                if name + _LENGTHS in feeds:
                    handle.set_lod([[0, *numpy.cumsum(feeds[name + _LENGTHS]).tolist()]])
            predictor.run()
            for output in outputs:
                output.copy_to_cpu()

        return run

    return load


def _inputs(request):
    if "feeds" in request:
        with numpy.load(request["feeds"]) as archive:
            return {name: archive[name] for name in archive.files}
    return {"x": numpy.random.default_rng(1).standard_normal(request["shape"], "float32")}


def _peak_megabytes():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def main(peer, threads="1"):
    peers = {"onnxruntime": _onnxruntime, "openvino": _openvino, "paddle": _paddle}
    load = peers[peer](int(threads))
    runs = {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["cmd"] == "load":
            before = _peak_megabytes()
            feeds = _inputs(request)
            begin = time.perf_counter()
            run = runs[request["slot"]] = load(request["path"], feeds)
            run()
            answer = {"load_s": time.perf_counter() - begin, "peak_mb": _peak_megabytes(),
                      "import_mb": before}
        elif request["cmd"] == "time":
            runs_in_all = request["iters"]
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(runs_in_all):
                runs[request["slot"]]()
            answer = {"wall_ms": 1e3 * (time.perf_counter() - wall) / runs_in_all,
                      "cpu_ms": 1e3 * (time.process_time() - cpu) / runs_in_all}
        else:
            del runs[request["slot"]]
            answer = {}
        print(json.dumps({"ok": True, **answer}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
