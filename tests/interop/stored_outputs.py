"""(g) Networks of the reference, with their parameters: `tools/infer` gives the outputs that the
reference gave when they were made.

Both backends are held to the same by tests/runtime/stored_outputs_test.cc.
"""

import dataclasses
import functools
import pathlib
import subprocess
import tempfile

import numpy
from cases import need_models
from paddle_program import Program, read_bytes

# Float sums in another order: some units of 2**-24 of the largest term.
_SUMMED_IN_FLOAT = 1e-5
# Such an error decides ties of codes, and a code that differs in one layer is many in the next:
# noise of 1e-6 on the input of the deep quantized network moves its outputs by up to 4 percent. In
# those of a few layers none differs.
_CODES_DIFFER = 0.05


@dataclasses.dataclass(frozen=True)
class Network:
    folder: str  # holds input_<feed>.npy
    program: str  # in it
    parameters: str  # likewise; "": the folder itself
    outputs: tuple
    tolerance: float = _SUMMED_IN_FLOAT  # of the largest output

    def title(self):
        return f"{self.folder} {self.program}"


def _networks():
    yield Network("with_params/uci_housing_fluid1_7", "__model__", "", ("output_0.npy",))
    yield Network("with_params/edl_mnist_conv_fluid1_7", "__model__", "", ("output_0.npy",))
    for name, tolerance in (("cls", _SUMMED_IN_FLOAT), ("cls_slim", _CODES_DIFFER)):
        yield Network(f"with_params/ch_ppocr_mobile_v2.0_{name}", "inference.pdmodel.gz",
                      "inference.pdiparams", ("output_0.npy",), tolerance)
    for name in ("PNet", "RNet"):
        yield Network(f"with_params/mtcnn_{name}", f"{name}.pdmodel", f"{name}.pdiparams",
                      ("output_0.npy", "output_1.npy", "output_2.npy"))
    # Trained quantized, then frozen, both by the reference.
    paddle = ("inference.pdmodel", "inference.pdiparams")
    fluid = ("__model__", "__params__")
    for folder, (program, parameters) in (
            ("fluid185_frozen/digits_conv-abs_max", fluid),
            ("fluid185_frozen/digits_conv-range_abs_max", fluid),
            ("paddle262_frozen/lenet-moving_average_abs_max-abs_max", paddle),
            ("paddle262_frozen/lenet-moving_average_abs_max-channel_wise_abs_max", paddle)):
        yield Network(f"generated/{folder}", f"qat_inference/{program}",
                      f"qat_inference/{parameters}", ("qat_test_output.npy",))
        yield Network(f"generated/{folder}", f"frozen_inference/{program}",
                      f"frozen_inference/{parameters}", ("frozen_output.npy",))


def _feeds_and_fetches(program):
    """Names, in the order of their places in the lists."""
    ops = sorted(program.blocks[0], key=lambda op: op.attributes.get("col", 0))
    return ([op.outputs["Out"][0] for op in ops if op.type == "feed"],
            [op.inputs["X"][0] for op in ops if op.type == "fetch"])


def _infer(environment, network, folder):
    """The outputs; `folder` is for files."""
    # The tool takes relative paths for those of who called `bazel run`.
    stored = (environment.models / network.folder).absolute()
    data = read_bytes(stored / network.program)
    feeds, fetches = _feeds_and_fetches(Program(data))
    assert len(fetches) == len(network.outputs), fetches
    (folder / "program.pdmodel").write_bytes(data)
    files = [folder / f"{i}.npy" for i in range(len(fetches))]
    done = subprocess.run(
        [environment.infer, folder / "program.pdmodel",
         f"--params={stored / network.parameters}",
         "--feeds=" + ",".join(f"{name}={stored / f'input_{name}.npy'}" for name in feeds),
         "--fetches=" + ",".join(f"{name}={file}" for name, file in zip(fetches, files))],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr.strip()
    return [numpy.load(file) for file in files]


def gives_what_is_stored(environment, network):
    with tempfile.TemporaryDirectory(prefix="fixpoint-interop-") as folder:
        outputs = _infer(environment, network, pathlib.Path(folder))
    distances = []
    for output, file in zip(outputs, network.outputs):
        stored = numpy.load(environment.models / network.folder / file)
        assert output.shape == stored.shape, (output.shape, stored.shape)
        assert numpy.abs(stored).max() > 0
        distances.append(numpy.abs(output - stored).max() / numpy.abs(stored).max())
    assert max(distances) <= network.tolerance, f"{distances}, of {network.tolerance}"
    return f"{max(distances):.1e} of {network.tolerance}"


def cases(environment):
    if environment.models is None:
        yield "networks of the reference data", lambda: need_models(environment)
        return
    for network in _networks():
        yield network.title(), functools.partial(gives_what_is_stored, environment, network)
