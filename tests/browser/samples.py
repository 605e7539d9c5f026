"""Reports as `inspect report` reads them: small networks, and names that could become markup."""

import math

# What no page may show as anything but text.
HOSTILE = """</script><script>alert(1)</script><img src=x onerror=alert(2)> & "quoted' ]]> --> \u202e"""


def quoted(text):
    """A string of protobuf text, byte by byte."""
    return '"' + "".join("\\%03o" % byte for byte in text.encode("utf-8", "surrogateescape")) + '"'


def histogram(low, high, bars=24):
    edges = [low + (high - low) * i / bars for i in range(bars + 1)]
    middle, width = (low + high) / 2, (high - low) / 6
    counts = [int(1e5 * math.exp(-((edges[i] + edges[i + 1]) / 2 - middle)**2 / width**2 / 2))
              for i in range(bars)]
    return "histogram { edges: [%s] counts: [%s] }" % (", ".join("%g" % edge for edge in edges),
                                                       ", ".join(map(str, counts)))


def value(name, role, bits=8, low=-1.0, high=1.0, more=""):
    return f"""values {{ variable: {quoted(name)} role: {role}
      spec {{ quantizer: "abs_max" bits: {bits} signedness: SIGNED granularity: PER_TENSOR
              scheme: SYMMETRIC }}
      min: {low} max: {high} low: {-max(-low, high)} high: {max(-low, high)} clipped: 0
      {histogram(low, high)} {more} }}"""


def op(place, kind, output, reads=(), more=""):
    return (f"ops {{ block: 0 op: {place} type: {quoted(kind)} output: {quoted(output)} "
            f"shape: [-1, 16] {' '.join(f'reads: {read}' for read in reads)} {more} }}")


def residual_net(blocks, bits=8, name="net"):
    """A report with every part: `blocks` of two convolutions and a sum."""
    ops, values, last = [], [], []

    def add(kind, output, reads, more=""):
        ops.append(op(len(ops) + 1, kind, output, reads, more))
        return len(ops) - 1

    def convolution(reads, output):
        values.append(value(f"{output}.in", "ACTIVATION", low=0.0, high=4.0))
        values.append(value(f"{output}.w", "WEIGHT", bits,
                            more="channels: 16 channel_spread: 20 signal_to_noise: 25"))
        at = add("conv2d", output, reads, f"""quantized: true reason: "by_target"
          lowered: "on_integers" values: [{len(values) - 2}, {len(values) - 1}]
          signal_to_noise: {45 - len(ops) / 10} sensitivity: {0.001 * (len(ops) % 7)}
          before {{ parameter_bytes: 9216 milliseconds: 0.1 }}
          after {{ parameter_bytes: 2304 milliseconds: 0.04 }}""")
        return add("relu", f"{output}.relu", [at], 'lowered: "in_epilogue"')

    for block in range(blocks):
        first = convolution(last, f"conv_{block}a")
        second = convolution([first], f"conv_{block}b")
        sources = sorted({*last, second})
        last = [add("elementwise_add", f"add_{block}", sources,
                    'quantized: false reason: "no_residual" lowered: "not_quantized"')]
    add("softmax", HOSTILE, last, f"""quantized: false reason: "skipped_by_rule"
      rule: {quoted("rules[0]" + HOSTILE)} detail: {quoted(HOSTILE)} signal_to_noise: inf""")
    steps = range(0, 200, 10)
    curve = " ".join(f"steps: {step} values: {2 * math.exp(-step / 50)}" for step in steps)
    return "\n".join([
        f"""tool: "quantize" program: {quoted(name)} target: "paddle_2_6"
        settings {{ name: "samples" value: "256" }} settings {{ name: "bits" value: "{bits}" }}
        notes: {quoted(HOSTILE)}
        metrics {{ name: "accuracy" higher_is_better: true before: 91.62 after: 91.31
                   standard_error: 0.11 samples: 10000 bound: 91.42 unit: "%" }}
        forms {{ name: "float" parameter_bytes: 1091368 activation_bytes: 393216
                 multiply_adds: 40813184 milliseconds: 1.843 }}
        forms {{ name: "lowered" parameter_bytes: 284368 multiply_adds: 40813184
                 integer_multiply_adds: 40812544 milliseconds: 0.612 }}
        curves {{ name: "loss" {curve} }}"""
    ] + ops + values)


def hostile_bytes():
    """Names that are no UTF-8, or no characters of XML."""
    return "\n".join([
        op(0, "conv2d", "\udcff\udcfe no UTF-8 \x00\x01\x1b\x7f \ufffe", (), "quantized: true values: 0"),
        value("\x08\udc80", "WEIGHT"),
    ])
