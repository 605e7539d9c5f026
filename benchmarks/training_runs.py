"""Trains networks with the project's commands, quantizes them and measures the result, in a folder
that keeps every stage: a run that was interrupted goes on there."""

import json
import pathlib
import subprocess
import sys


class TrainingRuns:
    """The runs of one network on one data set (MNIST or CIFAR-10), in batches of 128."""

    def __init__(self, tools, network, scores, data, folder, threads):
        """`tools` are paths, comma separated; `scores` is the variable that is fetched; `data` is
        what --data of the commands takes."""
        self._tools = {pathlib.Path(path).name: path for path in tools.split(",")}
        self._network = network
        self._scores = scores
        self._data = data
        self._folder = pathlib.Path(folder)
        self._threads = threads
        self._folder.mkdir(parents=True, exist_ok=True)
        self._test_program = self.path("float.test.pb")
        self.tool("write_training", folder, network)

    def tool(self, name, *arguments):
        """What the command prints; ends this one if it fails."""
        command = [self._tools[name], *map(str, arguments)]
        result = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=False)
        if result.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {result.returncode}")
        return result.stdout

    def path(self, name):
        return self._folder / name

    def accuracy(self, program, params):
        """In percent, of the test images."""
        report = self.tool("infer", program, f"--params={params}", f"--data={self._data}", "--json")
        return 100 * json.loads(report)["accuracy"]

    def in_float(self, epochs, rate):
        """The program that measures, its parameters, and their accuracy."""
        program = self.path(f"{self._network}.train.pb")
        params = self._train(program, self.path(f"{self._network}.startup.pb"), None,
                             "float.params", epochs, rate)
        self.tool("transpile", "--mode=test", f"--output={self._test_program}", program)
        return self._test_program, params, self.accuracy(self._test_program, params)

    def profile(self, params):
        """The ranges of the float program's values. REQUIRES: in_float was called."""
        path = self.path("float.profile")
        if not path.exists():
            self.tool("calibrate", self._test_program, f"--params={params}",
                      f"--data={self._data}", f"--output={path}")
        return path

    def trained(self, name, config, params, epochs, rate, profile=None, seed=1, backward="f32"):
        """The accuracy of the program on integers, after training as `config` says from the float
        parameters, or the startup program's if there are none, and from ranges of the profile."""
        config_path = self.path(f"{name}.textproto")
        config_path.write_text(config, encoding="utf-8")
        program, startup = self.path(f"{name}.train.pb"), self.path(f"{name}.startup.pb")
        ranges = (f"--profile={profile}",) if profile else ()
        self.tool("transpile", f"--config={config_path}", *ranges, f"--output={program}",
                  f"--startup={self.path(self._network + '.startup.pb')}",
                  f"--startup_output={startup}", self.path(self._network + ".train.pb"))
        trained = self._train(program, startup, params, f"{name}.params", epochs, rate, seed,
                              backward)
        frozen, frozen_params = self.path(f"{name}.frozen.pb"), self.path(f"{name}.frozen.params")
        self.tool("transpile", "--mode=freeze", f"--params={trained}", f"--fetches={self._scores}",
                  f"--output={frozen}", f"--params_output={frozen_params}", program)
        lowered, lowered_params = self.path(f"{name}.lowered.pb"), self.path(f"{name}.lowered.params")
        self.tool("transpile", "--mode=lower", f"--params={frozen_params}", f"--output={lowered}",
                  f"--params_output={lowered_params}", frozen)
        return self.accuracy(lowered, lowered_params)

    def _train(self, program, startup, params, save, epochs, rate, seed=1, backward="f32"):
        path = self.path(save)
        # An interrupted `train` saves too, what it has by then.
        partial = self.path(save + ".partial")
        if not path.exists():
            start = (f"--params={params}",) if params else ()
            augment = (("--augment_padding=4", "--augment_flip")
                       if self._data.startswith("cifar10:") else ())
            self.tool("train", program, f"--startup={startup}", *start, f"--data={self._data}",
                      f"--epochs={epochs}", "--batch_size=128", f"--learning_rate={rate}",
                      *augment, f"--seed={seed}", f"--backward={backward}",
                      f"--threads={self._threads}", f"--save={partial}",
                      f"--checkpoint_dir={self.path(save + '.checkpoints')}",
                      "--checkpoint_every=391", "--keep_checkpoints=2", "--resume",
                      f"--metrics={self.path(save + '.jsonl')}")
            partial.rename(path)
        return path
