"""`sizing MODEL GPU` through the installed console script: what it prints, and its exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(sys.executable).with_name("sizing")
LOCALES = ("LC_ALL", "LC_MESSAGES", "LANG", "REDIS_URL", "PUBLIC_URL", "CATALOG_PATH")


def sizing(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command with no terminal; its environment names no language unless asked."""
    clean = {name: value for name, value in os.environ.items() if name not in LOCALES}
    return subprocess.run(
        [SCRIPT, *words], capture_output=True, text=True, env=clean | environment, timeout=120, check=False
    )


def test_prints_the_report_of_the_api(client):
    """Plain Markdown where nobody looks at a terminal, byte for byte that of the API."""
    done = sizing("qwen3-8b", "rtx-4090", "--lang", "de")
    query = "model=qwen3-8b&gpu=rtx-4090&lang=de"
    answer = client.get(f"/v1/report?{query}", headers={"Accept": "text/markdown"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == answer.get_data(as_text=True).strip()


def test_one_section_with_the_parameters_of_the_scenario(client):
    """Every parameter is an option; JSON is that of the section."""
    words = ["Qwen/Qwen3-8B", "rtx-4090", "--section", "memory", "--json", "--context-tokens", "4096"]
    done = sizing(*words, "--gpu-count", "2")
    query = "model=qwen3-8b&gpu=rtx-4090&context_tokens=4096&gpu_count=2"
    assert json.loads(done.stdout) == client.get(f"/v1/fragments/memory?{query}").json


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["qwen3-8b", "rtx-4090"], 0),
        # 5 x 25,088 cells x 147,456 B are 17.2 GiB beside 4.9 GiB of weights and buffers, of 22.5 GiB usable.
        (["qwen3-8b", "rtx-4090", "--context-tokens", "25000", "--concurrent-sequences", "5"], 0),
        (["kimi-k3.1-pro", "h20-141gb"], 1),
        (["qwen3-8b", "no-such-gpu"], 2),
        (["qwen3-8b", "rtx-4090", "--gpu-count", "many"], 2),
        (["qwen3-8b", "rtx-4090", "--no-such-option"], 2),
        (["no-such-model"], 2),
    ],
)
def test_the_exit_status_is_the_verdict(words, status):
    """0 fits, even tightly; 1 does not; 2 could not be computed."""
    done = sizing(*words, *(["--section", "summary"] if status < 2 else []))
    assert done.returncode == status, done.stderr
    assert bool(done.stdout) is (status < 2)
    assert bool(done.stderr) is (status == 2)


@pytest.mark.parametrize(
    ("words", "environment", "said"),
    [
        (["--lang", "zh"], {}, "目录中没有名为“qwen3-8”的模型"),
        ([], {"LANG": "de_DE.UTF-8"}, "Der Katalog enthält kein Modell mit dem Namen „qwen3-8“"),
        ([], {"LANG": "C"}, "The catalog has no model named “qwen3-8”"),
        (["--lang", "fr"], {}, "“lang” does not have a permitted value"),
    ],
)
def test_problems_are_said_in_the_language(words, environment, said):
    """That of the option, else that of the terminal; with the names that were probably meant."""
    done = sizing("qwen3-8", "rtx-4090", *words, **environment)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_wrong_settings_could_not_be_computed():
    """No traceback, and no status that says that it does not fit."""
    done = sizing("qwen3-8b", "rtx-4090", CACHE_MEMORY_BYTES="much")
    assert done.returncode == 2
    assert "CACHE_MEMORY_BYTES" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_alone_has_a_report():
    """Without a GPU there is nothing that could not fit."""
    done = sizing("kimi-k3.1-pro", "--section", "about")
    assert done.returncode == 0
    assert done.stdout.startswith("## About the model")


def test_words_that_name_no_command_are_a_model():
    """Commands keep their names; `report` is the long form."""
    assert sizing("report", "qwen3-8b", "--section", "about").stdout == (
        sizing("qwen3-8b", "--section", "about").stdout
    )
    assert sizing("version").stdout.count("\n") == 1


def test_a_terminal_shows_tables_with_whole_numbers():
    """Drawn for the width of the window: no Markdown is left, and no figure is cut."""
    import pty

    controller, terminal = pty.openpty()
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm", "LANG": "en_US.UTF-8"}
    words = [SCRIPT, "qwen3-8b", "rtx-4090", "--section", "memory"]
    with subprocess.Popen(words, stdout=terminal, stderr=terminal, env=environment) as process:
        os.close(terminal)
        parts = []
        while True:
            try:
                parts.append(os.read(controller, 65536))
            except OSError:  # the other end is closed
                break
            if not parts[-1]:
                break
    os.close(controller)
    text = b"".join(parts).decode()
    assert process.returncode == 0, text
    assert "| ---:" not in text
    assert "4,671,766,528" in text
    assert "…" not in text
