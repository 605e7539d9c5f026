"""Parameters of a folder, a file for each (docs/parameter_files.md), as NumPy's arrays of FP32."""

import pathlib
import struct

import numpy

_FP32 = 5  # VarType.Type


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _encoded(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def read(folder, name):
    data = (pathlib.Path(folder) / name).read_bytes()
    version, levels = struct.unpack_from("<IQ", data)
    tensor_version, size = struct.unpack_from("<Ii", data, 12)
    assert version == levels == tensor_version == 0, f"{name}: has sequences"
    dtype, dims, at = None, [], 20
    while at < 20 + size:
        tag, at = _varint(data, at)
        value, at = _varint(data, at)
        if tag == 8:
            dtype = value
        else:
            assert tag == 16, f"{name}: no description of a tensor"
            dims.append(value)
    assert dtype == _FP32, f"{name}: not FP32"
    return numpy.frombuffer(data, "<f4", offset=at).reshape(dims).copy()


def write(folder, name, values):
    description = b"\x08" + _encoded(_FP32)
    for extent in values.shape:
        description += b"\x10" + _encoded(extent)
    header = struct.pack("<IQIi", 0, 0, 0, len(description))
    (pathlib.Path(folder) / name).write_bytes(header + description +
                                              values.astype("<f4").tobytes())
