"""Makes PyTorch importable without the GPU libraries that its wheel names.

Run by the interpreter of the virtual environment. As long as `import torch` fails because a
shared library is missing, an empty one of that name is put beside PyTorch's own; as long as it
fails because a symbol of such a library is missing, the first of them gets a function of that
name, which registers nothing and reports that there is no device. Only what the import and
`torch.compile` touch is asked for: other functions are bound when they are called, and nothing on
the CPU calls them. Programs must therefore import PyTorch through `lazily`, as this one does.
"""

import importlib.util
import pathlib
import re
import subprocess
import sys

LIBRARY = re.compile(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object file")
SYMBOL = re.compile(r"undefined symbol: (\w+)(?:, version (\S+))?")
PROBE = """
import lazily
torch = lazily.torch()
assert torch.ones(2).sum().item() == 2
assert not torch.cuda.is_available()
assert torch.compile(lambda x: x + 1)(torch.ones(2)).sum().item() == 4
"""


def make(path, symbols):
    """A shared library of nothing but the symbols: pairs of a name and a version or None."""
    no_device = 100
    answers = [(name, 0 if name.startswith("__cuda") else no_device) for name, _ in symbols]
    lines = [f"long {name}(void) {{ return {answer}; }}" for name, answer in answers]
    versions = sorted({version for _, version in symbols if version})
    script = path.with_suffix(".map")
    nodes = []
    for version in versions:
        names = [name for name, own in symbols if own == version]
        nodes.append(f'{version} {{ global: {" ".join(n + ";" for n in names)} }};')
    script.write_text("\n".join(nodes))
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", f"-Wl,-soname,{path.name}"]
    if nodes:
        command.append(f"-Wl,--version-script,{script}")
    source = "\n".join(lines)
    subprocess.run([*command, "-o", str(path)], check=True, input=source, text=True)
    script.unlink()


def main():
    spec = importlib.util.find_spec("torch")
    if spec is None:
        sys.exit("PyTorch is not installed in this environment")
    folder = pathlib.Path(spec.origin).parent / "lib"
    made = []
    symbols = []
    for _ in range(200):
        probe = subprocess.run(
            [sys.executable, "-c", PROBE],
            capture_output=True,
            text=True,
            cwd=pathlib.Path(__file__).parent,
        )
        if probe.returncode == 0:
            print(f"PyTorch runs with {len(made)} stand-ins for libraries it does not call")
            return
        library, symbol = LIBRARY.search(probe.stderr), SYMBOL.search(probe.stderr)
        if library and library[1] not in made:
            made.append(library[1])
            make(folder / library[1], [])
        elif symbol and made and (symbol[1], symbol[2]) not in symbols:
            symbols.append((symbol[1], symbol[2]))
            make(folder / made[0], symbols)
        else:
            break
    sys.exit(f"PyTorch does not start:\n{probe.stderr}")


main()
