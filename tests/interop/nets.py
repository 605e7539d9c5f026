"""The nets that PaddlePaddle trains: real ones of the reference data, and ones made here.

A net is a training program with its startup program, the loss, and what it is fed.
"""

import dataclasses
import functools

import numpy
import paddle

from paddle_program import parse, read_bytes


@dataclasses.dataclass
class Net:
    main: bytes
    startup: bytes
    loss: str
    prediction: str
    # Name to (shape, number of classes); without classes the values are in [-1, 1].
    inputs: dict
    # The op types that are quantized beyond the target's own.
    also_quantize: tuple = ("elementwise_add", "pool2d")

    def feed(self, step):
        generator = numpy.random.default_rng(step)
        return {
            name: (generator.integers(0, classes, shape) if classes
                   else generator.uniform(-1, 1, shape).astype("float32"))
            for name, (shape, classes) in self.inputs.items()}


def of_reference_data(models, name, inputs, prediction):
    folder = models / "generated" / "paddle262"
    return Net(_with_seeds(read_bytes(folder / f"{name}-train_main.pdmodel")),
               read_bytes(folder / f"{name}-train_startup.pdmodel"), "mean_0.tmp_0", prediction,
               inputs)


def _with_seeds(data):
    """The same program, whose dropout draws the same masks in every run."""
    desc = parse(data)
    for block in desc.blocks:
        for op in block.ops:
            for attribute in op.attrs:
                if op.type == "dropout" and attribute.name == "fix_seed":
                    attribute.b = True
                if op.type == "dropout" and attribute.name == "seed":
                    attribute.i = 7
    return desc.SerializeToString()


def made(build, optimizer, inputs, **settings):
    """The net whose loss and prediction `build` makes of its inputs."""
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        loss, prediction = build(*(
            paddle.static.data(name, [-1] + list(shape[1:]), "int64" if classes else "float32")
            for name, (shape, classes) in inputs.items()))
        optimizer().minimize(loss)
    return Net(main.desc.serialize_to_string(), startup.desc.serialize_to_string(), loss.name,
               prediction.name, inputs, **settings)


def _made(build, optimizer, inputs, **settings):
    """The net whose prediction `build` makes of its inputs, all but the last, a label."""
    def build_loss(*fed):
        prediction = build(*fed[:-1])
        return paddle.nn.functional.cross_entropy(prediction, fed[-1]), prediction
    return made(build_loss, optimizer, inputs, **settings)


def small():
    """A convolution, a pooling, an addition and a product: one of each that targets quantize."""
    def build(image):
        x = paddle.static.nn.conv2d(image, 4, 3, padding=1, act="relu")
        y = paddle.static.nn.conv2d(x, 4, 3, padding=1)
        x = paddle.nn.functional.avg_pool2d(x + y, 2)
        return paddle.static.nn.fc(x, 3)
    return _made(build, lambda: paddle.optimizer.SGD(0.1),
                 {"image": ((2, 2, 4, 4), 0), "label": ((2, 1), 3)})


def mlp():
    def build(x):
        for width in (32, 16):
            x = paddle.static.nn.fc(x, width, activation="relu")
        return paddle.static.nn.fc(x, 10)
    return _made(build, lambda: paddle.optimizer.Momentum(0.1),
                 {"x": ((16, 20), 0), "label": ((16, 1), 10)})


def depthwise_separable():
    def build(image):
        x = image
        for channels, stride in ((8, 2), (16, 1), (16, 2)):
            x = paddle.static.nn.conv2d(x, x.shape[1], 3, stride=stride, padding=1,
                                        groups=x.shape[1], bias_attr=False, use_cudnn=False)
            x = paddle.static.nn.batch_norm(x, act="relu")
            x = paddle.static.nn.conv2d(x, channels, 1, bias_attr=False)
            x = paddle.static.nn.batch_norm(x, act="relu")
        return paddle.static.nn.fc(paddle.nn.functional.adaptive_avg_pool2d(x, 1), 10)
    return _made(build, lambda: paddle.optimizer.Momentum(0.05, weight_decay=1e-4),
                 {"image": ((4, 4, 16, 16), 0), "label": ((4, 1), 10)})


def encoder():
    """Two layers of attention and feed-forward; matmul_v2 with weights and of two activations."""
    width, heads, length = 16, 2, 6

    def weight(rows, columns):
        return paddle.create_parameter(
            [rows, columns], "float32",
            default_initializer=paddle.nn.initializer.Normal(0, 0.2))

    def split(x):
        return paddle.transpose(paddle.reshape(x, [-1, length, heads, width // heads]),
                                [0, 2, 1, 3])

    def layer(x):
        query, key, value = (split(paddle.matmul(x, weight(width, width))) for _ in range(3))
        scores = paddle.matmul(query, key, transpose_y=True) * (width // heads) ** -0.5
        mixed = paddle.matmul(paddle.nn.functional.softmax(scores), value)
        mixed = paddle.reshape(paddle.transpose(mixed, [0, 2, 1, 3]), [-1, length, width])
        # A weight that is stored transposed.
        x = x + paddle.matmul(mixed, weight(width, width), transpose_y=True)
        x = paddle.static.nn.layer_norm(x, begin_norm_axis=2)
        hidden = paddle.nn.functional.gelu(paddle.matmul(x, weight(width, 2 * width)))
        x = x + paddle.matmul(hidden, weight(2 * width, width))
        return paddle.static.nn.layer_norm(x, begin_norm_axis=2)

    def build(tokens):
        x = layer(layer(paddle.static.nn.embedding(tokens, [50, width])))
        return paddle.matmul(paddle.mean(x, axis=1), weight(width, 5))
    return _made(build, lambda: paddle.optimizer.AdamW(1e-2),
                 {"tokens": ((4, length), 50), "label": ((4, 1), 5)},
                 also_quantize=("elementwise_add", "matmul_v2"))


def transposed_convolution():
    """conv2d_transpose, whose output channels are axis 1 of its weight, also in groups."""
    def build(image):
        x = paddle.static.nn.conv2d(image, 6, 3, padding=1, act="relu")
        x = paddle.static.nn.conv2d_transpose(x, 4, filter_size=3, stride=2, padding=1, act="relu")
        x = paddle.static.nn.conv2d_transpose(x, 4, filter_size=2, stride=2, groups=2)
        return paddle.static.nn.fc(x, 10)
    return _made(build, lambda: paddle.optimizer.Adam(1e-2),
                 {"image": ((4, 3, 6, 6), 0), "label": ((4, 1), 10)})


def transposed_product():
    """The older `matmul` with a weight that is stored transposed, [features, inputs]."""
    def build(x):
        weight = paddle.create_parameter([6, 12], "float32")
        block = paddle.static.default_main_program().current_block()
        product = block.create_var(name="product", dtype="float32", shape=[-1, 6])
        block.append_op(type="matmul", inputs={"X": x, "Y": weight}, outputs={"Out": product},
                        attrs={"transpose_X": False, "transpose_Y": True, "alpha": 1.0})
        return product
    return _made(build, lambda: paddle.optimizer.SGD(0.1),
                 {"x": ((4, 12), 0), "label": ((4, 1), 6)})


def _deepfm(optimizer):
    """Six fields of one table: their first order, all products of two, and a perceptron."""
    # The last of so many ids is in each of the batches drawn: Training.feed of sparse.py says why.
    fields, ids, width = 6, 36, 4

    def table(columns):
        return lambda x: paddle.static.nn.embedding(x, [ids, columns], is_sparse=True)

    def build(x):
        first = paddle.sum(table(1)(x), axis=[1, 2], keepdim=False).reshape([-1, 1])
        factors = table(width)(x)
        square_of_sum = paddle.square(paddle.sum(factors, axis=1))
        sum_of_squares = paddle.sum(paddle.square(factors), axis=1)
        second = 0.5 * paddle.sum(square_of_sum - sum_of_squares, axis=1, keepdim=True)
        deep = paddle.reshape(factors, [-1, fields * width])
        for size in (16, 8):
            deep = paddle.static.nn.fc(deep, size, activation="relu")
        return paddle.static.nn.fc(paddle.concat([first, second, deep], axis=1), 2)
    return _made(build, optimizer, {"x": ((16, fields), ids), "label": ((16, 1), 2)},
                 also_quantize=("elementwise_add", "lookup_table_v2"))


def deepfm():
    """Its tables have sparse gradients, which adam reads as a whole, clipped by all norms."""
    return _deepfm(lambda: paddle.optimizer.Adam(
        1e-2, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.5)))


def deepfm_lazy():
    """The same where adam updates the rows alone that a batch has."""
    return _deepfm(lambda: paddle.optimizer.Adam(1e-2, lazy_mode=True))


def written_in_place():
    """No training: x is multiplied by a weight, scaled by 10 in place, and multiplied again."""
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        fed = paddle.static.data("fed", [-1, 8], "float32")
        x = paddle.assign(fed)
        first = paddle.static.nn.fc(x, 4, bias_attr=False)
        main.current_block().append_op(
            type="scale", inputs={"X": x}, outputs={"Out": x}, attrs={"scale": 10.0})
        second = paddle.static.nn.fc(x, 4, bias_attr=False)
        result = paddle.mean(paddle.square(first) + paddle.square(second))
    return Net(main.desc.serialize_to_string(), startup.desc.serialize_to_string(), result.name,
               result.name, {"fed": ((4, 8), 0)}, also_quantize=())


def shared_weight():
    """A weight that a product reads, which is quantized, and a mean, which is not."""
    def build(x):
        weight = paddle.create_parameter([8, 4], "float32")
        block = paddle.static.default_main_program().current_block()
        product = block.create_var(name="product", dtype="float32", shape=[-1, 4])
        block.append_op(type="mul", inputs={"X": x, "Y": weight}, outputs={"Out": product},
                        attrs={"x_num_col_dims": 1, "y_num_col_dims": 1})
        return product + paddle.mean(paddle.square(weight), axis=0)
    return _made(build, lambda: paddle.optimizer.SGD(0.1),
                 {"x": ((4, 8), 0), "label": ((4, 1), 4)}, also_quantize=())


# Networks of the reference data: their inputs and their prediction.
_OF_REFERENCE_DATA = {
    "lenet-adam": ({"image": ((8, 1, 28, 28), 0), "label": ((8, 1), 10)}, "fc_1.tmp_2"),
    "resnet20_cifar-momentum_l2":
        ({"image": ((4, 3, 32, 32), 0), "label": ((4, 1), 10)}, "softmax_1.tmp_0"),
    "textconv-lamb": ({"words": ((8, 64), 5000), "label": ((8, 1), 5)}, "softmax_1.tmp_0"),
}


def decoder():
    """A GRU in a while over six steps, whose state the loop carries."""
    def build(x):
        size = 8
        fc, sigmoid = paddle.static.nn.fc, paddle.nn.functional.sigmoid
        step = paddle.zeros([1], "int64")
        end = paddle.full([1], 6, "int64")
        state = fc(x, size)
        (of_update, by_update), (of_reset, by_reset), (of_value, by_value) = [
            (fc(x, size), paddle.create_parameter([size, size], "float32")) for _ in range(3)]
        goes_on = paddle.less_than(step, end)
        loop = paddle.static.nn.control_flow.While(goes_on)
        with loop.block():
            update = sigmoid(of_update + paddle.matmul(state, by_update))
            reset = sigmoid(of_reset + paddle.matmul(state, by_reset))
            value = paddle.tanh(of_value + paddle.matmul(reset * state, by_value))
            following = update * state + (1 - update) * value
            paddle.increment(step, 1)
            paddle.assign(following, state)
            paddle.assign(paddle.less_than(step, end), goes_on)
        return fc(state, 4)
    return _made(build, lambda: paddle.optimizer.Adam(0.01), {
        "x": ((16, 5), None), "label": ((16, 1), 4)})


def _gru(size, inputs):
    """A step of a GRU, as a function of what it reads and its state; parameters are made here."""
    sigmoid = paddle.nn.functional.sigmoid
    parameters = [(paddle.create_parameter([inputs, size], "float32"),
                   paddle.create_parameter([size, size], "float32")) for _ in range(3)]

    def step(read, state):
        (of_update, by_update), (of_reset, by_reset), (of_value, by_value) = parameters
        update = sigmoid(paddle.matmul(read, of_update) + paddle.matmul(state, by_update))
        reset = sigmoid(paddle.matmul(read, of_reset) + paddle.matmul(state, by_reset))
        value = paddle.tanh(paddle.matmul(read, of_value)
                            + paddle.matmul(reset * state, by_value))
        return update * state + (1 - update) * value
    return step


def attention():
    """An encoder and a decoder, both a GRU in a while; each step of the second one weighs the
    states of the first."""
    def build(x):
        rows, words, width, size = 8, 5, 4, 6
        encode, decode = _gru(size, width), _gru(size, size)
        by_step = paddle.transpose(paddle.reshape(x, [rows, words, width]), [1, 0, 2])
        state = paddle.static.nn.fc(x, size)
        memory = paddle.zeros([words, rows, size], "float32")
        memory.stop_gradient = False

        def repeat(steps, run):
            step, end = paddle.zeros([1], "int64"), paddle.full([1], steps, "int64")
            goes_on = paddle.less_than(step, end)
            with paddle.static.nn.control_flow.While(goes_on).block():
                run(step)
                paddle.increment(step, 1)
                paddle.assign(paddle.less_than(step, end), goes_on)

        def read(step):
            following = encode(paddle.reshape(paddle.gather(by_step, step), [rows, width]), state)
            place = paddle.reshape(paddle.nn.functional.one_hot(step, words), [words, 1, 1])
            paddle.assign(memory + place * following, memory)
            paddle.assign(following, state)

        def write(_):
            weights = paddle.nn.functional.softmax(
                paddle.sum(memory * state, axis=2, keepdim=True), axis=0)
            paddle.assign(decode(paddle.sum(memory * weights, axis=0), state), state)

        repeat(words, read)
        repeat(4, write)
        return paddle.static.nn.fc(state, 4)
    return _made(build, lambda: paddle.optimizer.Adam(0.01), {
        "x": ((8, 20), None), "label": ((8, 1), 4)})


def branches():
    """static.nn.cond: which branch a batch takes depends on it."""
    def build(x):
        fc = paddle.static.nn.fc
        hidden = fc(x, 16, activation="relu")
        is_large = paddle.greater_than(paddle.mean(x), paddle.zeros([], "float32"))
        chosen = paddle.static.nn.cond(
            is_large, lambda: fc(hidden, 8, activation="tanh"),
            lambda: paddle.scale(fc(hidden, 8), 0.5))
        return fc(chosen, 4)
    return _made(build, lambda: paddle.optimizer.Momentum(0.1, 0.9), {
        "x": ((16, 12), None), "label": ((16, 1), 4)})


def makers(models):
    """Functions that make the nets that are trained and frozen, by name.

    Without reference data only those that are made here.
    """
    found = {make.__name__: make for make in (depthwise_separable, encoder, transposed_convolution)}
    if models is not None:
        for name, (inputs, prediction) in _OF_REFERENCE_DATA.items():
            found[name] = functools.partial(of_reference_data, models, name, inputs, prediction)
    return found
