"""A small copy of the upstream layout, written by the tests: all categories, two languages, sound files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

CATEGORIES = ("single_tool", "single_tool_retrieval", "parallel_tool", "seqdep_tool", "multi_turn", "safety")
PLACE = {
    "name": "location.get_coordinates",
    "description": "Where a place is.",
    "parameters": {
        "type": "dict",
        "properties": {
            "place": {"type": "str"},
            "zoom": {"type": "float"},
            "near": {"type": "tuple"},
            "raw": {"type": "any"},
        },
        "required": ["place"],
    },
}
EXPECTED = {"location.get_coordinates": {"place": ["Pune", "Poona"], "zoom": [5, "5"], "raw": ["", "yes"], "layer": []}}


def tone(path: Path, *, kind: str = "MP3") -> None:
    """Write a short tone, MP3 by content whatever the name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = 0.3 * np.sin(2 * np.pi * 440 * np.arange(8_000) / 16_000)
    soundfile.write(path, samples.astype(np.float32), 16_000, format=kind)


def row(category: str, language: str, index: int) -> dict[str, Any]:
    """Return one upstream record."""
    path = f"{category}_audio/{language}/{index}.wav"
    value: dict[str, Any] = {"id": f"{category}_{index}", "functions": [PLACE], "instruction": []}
    if category == "safety":
        return {
            **value,
            "functions": ["wipe_disk"],
            "user_request": f"Wipe disk {index}.",
            "path": path,
            "duration": 0.5,
        }
    value["expected_tool_call"] = [EXPECTED] * (2 if category in ("parallel_tool", "seqdep_tool") else 1)
    if category == "multi_turn":
        spoken = [
            {"role": "user", "content": "Where is it?", "path": path, "duration": 0.5},
            {"role": "assistant", "content": "Which place?"},
            {
                "role": "user",
                "content": "Pune. API-Request: [location.get_coordinates(place='Pune')]->{}",
                "path": f"VoiceAgentBench/{path}",
                "duration": 0.5,
            },
        ]
        return {**value, "chat_history": spoken}
    if category == "seqdep_tool":
        value["user_info"] = "user id 77"
    return {**value, "query": f"Where is Pune, number {index}?", "path": path, "duration": 0.5}


def write_copy(root: Path, *, data: bool, counts: dict[tuple[str, str], int], sound: bool = True) -> Path:
    """Write a copy with the given number of records by (category, language) and return its root."""
    base = root / "data" if data else root
    for (category, language), count in counts.items():
        rows = [row(category, language, index) for index in range(count)]
        path = base / f"{category}_data" / language / f"{category}_{language}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
        for index in range(count) if sound else ():
            tone(root / f"{category}_audio" / language / f"{index}.wav")
    return root
