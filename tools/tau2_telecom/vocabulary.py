"""The words of telephones and their settings."""

from __future__ import annotations

from duologue.toolkit.rules import RULES_NAME
from duologue.toolkit.vocabulary import VOCABULARIES, Vocabulary

VOCABULARY = Vocabulary(
    joined={("wi", "fi"): "wifi", ("why", "fi"): "wifi", ("air", "plane"): "airplane", ("re", "boot"): "reboot"},
    spellings={"aeroplane": "airplane"},
    compounds={r"\bw(?:i|hy)[ -]?fi\b": "wifi", r"\bair ?plane\b": "airplane", r"\be[ -]sim\b": "esim"},
    labels={"sim": "SIM", "apn": "APN", "vpn": "VPN", "mms": "MMS", "sms": "SMS", "wifi": "Wi-Fi"},
    agent_lines=(
        r"\bi (?:have|'ve|’ve) (?:refueled|resumed|suspended|enabled|disabled) (?:roaming )?"
        r"(?:on |for )?your (?:line|data)\b",
    ),
    device="phone",
)

VOCABULARIES.register("tau2_telecom", RULES_NAME, VOCABULARY, owner=__name__)
