"""The networks of benchmarks/networks.h in PyTorch. Modules are made in the order of their layers
there, so that parameters can be copied by number."""

import torch
from torch import nn


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def _convolution_norm(channels, filters, kernel, stride, groups=1):
    return [nn.Conv2d(channels, filters, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(filters)]


class _ResidualBlock(nn.Module):

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.inner = nn.Sequential(*_convolution_norm(channels, filters, 3, stride), nn.ReLU(),
                                   *_convolution_norm(filters, filters, 3, 1))
        self.shortcut = nn.Sequential(
            *(_convolution_norm(channels, filters, 1, stride) if stride > 1 else []))

    def forward(self, x):
        return torch.relu(self.shortcut(x) + self.inner(x))


def resnet20():
    layers = [*_convolution_norm(3, 16, 3, 1), nn.ReLU()]
    channels = 16
    for filters in (16, 32, 64):
        for block in range(3):
            stride = 2 if filters > 16 and block == 0 else 1
            layers.append(_ResidualBlock(channels, filters, stride))
            channels = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def mobilenet_v1():
    layers = [*_convolution_norm(3, 32, 3, 2), nn.ReLU()]
    channels = 32
    blocks = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5,
              (1024, 2), (1024, 1)]
    for filters, stride in blocks:
        layers += [*_convolution_norm(channels, channels, 3, stride, channels), nn.ReLU(),
                   *_convolution_norm(channels, filters, 1, 1), nn.ReLU()]
        channels = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000))


def small_separable():
    layers = [*_convolution_norm(1, 16, 3, 2), nn.ReLU()]
    channels = 16
    for filters, stride in ((32, 1), (64, 2), (64, 1)):
        layers += [*_convolution_norm(channels, channels, 3, stride, channels), nn.ReLU(),
                   *_convolution_norm(channels, filters, 1, 1), nn.ReLU()]
        channels = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


class _EncoderBlock(nn.Module):

    def __init__(self, width, heads, activation):
        super().__init__()
        self._heads = heads
        self.queries, self.keys, self.values, self.attended = (nn.Linear(width, width)
                                                               for _ in range(4))
        self.attention_norm = nn.LayerNorm(width)
        self.inner = nn.Sequential(nn.Linear(width, 4 * width), activation,
                                   nn.Linear(4 * width, width))
        self.inner_norm = nn.LayerNorm(width)

    def forward(self, x):
        count, tokens, width = x.shape
        size = width // self._heads
        queries, keys, values = (
            of(x).reshape(count, tokens, self._heads, size).transpose(1, 2)
            for of in (self.queries, self.keys, self.values))
        scores = torch.softmax(queries @ keys.transpose(2, 3) * size**-0.5, -1)
        joined = (scores @ values).transpose(1, 2).reshape(count, tokens, width)
        x = self.attention_norm(x + self.attended(joined))
        return self.inner_norm(x + self.inner(x))


class _Encoder(nn.Module):

    def __init__(self, width):
        super().__init__()
        self.patches = nn.Conv2d(1, width, 7, stride=7)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.Sequential(_EncoderBlock(width, 4, nn.ReLU()),
                                    _EncoderBlock(width, 4, nn.GELU()))
        self.classes = nn.Linear(16 * width, 10)

    def forward(self, x):
        tokens = self.norm(self.patches(x).flatten(2).transpose(1, 2))
        return self.classes(self.blocks(tokens).flatten(1))


def encoder():
    return _Encoder(32)


def _token_encoder(width, heads):
    blocks = [_EncoderBlock(width, heads, nn.GELU()) for _ in range(2)]
    return nn.Sequential(*blocks, nn.Flatten(), nn.Linear(128 * width, 10))


def encoder_256():
    return _token_encoder(256, 4)


def encoder_512():
    return _token_encoder(512, 8)


class _Bottleneck(nn.Module):

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.inner = nn.Sequential(
            *_convolution_norm(channels, filters, 1, 1), nn.ReLU(),
            *_convolution_norm(filters, filters, 3, stride), nn.ReLU(),
            *_convolution_norm(filters, 4 * filters, 1, 1))
        has_shortcut = stride > 1 or channels != 4 * filters
        self.shortcut = nn.Sequential(
            *(_convolution_norm(channels, 4 * filters, 1, stride) if has_shortcut else []))

    def forward(self, x):
        return torch.relu(self.shortcut(x) + self.inner(x))


def resnet50():
    layers = [*_convolution_norm(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for filters, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            stride = 2 if filters > 64 and block == 0 else 1
            layers.append(_Bottleneck(channels, filters, stride))
            channels = 4 * filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))
