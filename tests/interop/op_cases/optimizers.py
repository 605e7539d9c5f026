"""Optimizers: one step from a state that is not that of the beginning."""

import dataclasses

from op_case import ROUNDED, Case, Values, floats

TOLERANCE = ROUNDED

_SHAPE = (5, 7)


def _optimizer(op, state, **attributes):
    return Case(op, {"Param": floats(*_SHAPE), "Grad": floats(*_SHAPE),
                     "LearningRate": Values([0.01]), **state}, attributes, has_gradient=False)


def _positive():
    return floats(*_SHAPE, low=0.01)


def _adam(op, **attributes):
    state = {"Moment1": floats(*_SHAPE), "Moment2": _positive(), "Beta1Pow": Values([0.81]),
             "Beta2Pow": Values([0.998001])}
    return _optimizer(op, state, **attributes)


def cases():
    yield _optimizer("sgd", {})
    velocity = {"Velocity": floats(*_SHAPE)}
    yield _optimizer("momentum", velocity, mu=0.9)
    yield _optimizer("momentum", velocity, mu=0.9, use_nesterov=True)
    yield _optimizer("momentum", velocity, mu=0.9, regularization_method="l2_decay",
                     regularization_coeff=0.01)
    yield _optimizer("momentum", velocity, mu=0.9, use_nesterov=True,
                     regularization_method="l2_decay", regularization_coeff=0.01)
    yield _optimizer("momentum", velocity, mu=0.9, rescale_grad=0.5)
    yield _adam("adam")
    yield _adam("adam", beta1=0.8, beta2=0.99, epsilon=1e-3)
    yield _adam("adamw")
    yield _adam("adamw", coeff=0.1)
    yield dataclasses.replace(_adam("adamw", lr_ratio=0.5),
                              refused="want 1, one rate for all layers")
    yield _adam("adamw", with_decay=False)
    yield _adam("lamb", weight_decay=0.01)
    yield _adam("lamb", weight_decay=0.1, epsilon=1e-3)
    yield _adam("lamb", weight_decay=0.0)
    yield _adam("lamb", weight_decay=0.0, always_adapt=True)
    rmsprop = {"Moment": floats(*_SHAPE), "MeanSquare": _positive()}
    for attributes in ({}, {"momentum": 0.9, "decay": 0.8, "epsilon": 1e-3}):
        yield _optimizer("rmsprop", {**rmsprop, "MeanGrad": floats(*_SHAPE)}, **attributes)
    yield _optimizer("rmsprop", {"Moment": floats(*_SHAPE),
                                 "MeanSquare": floats(*_SHAPE, low=1, high=2),
                                 "MeanGrad": floats(*_SHAPE, low=-0.5, high=0.5)},
                     momentum=0.9, centered=True)
    yield _optimizer("adagrad", {"Moment": _positive()})
    yield _optimizer("adagrad", {"Moment": _positive()}, epsilon=1e-3)
