"""The tools of VoiceAgentBench tasks: made from each record's manifest, answering with a constant envelope."""

from tools.voiceagentbench import manifest as manifest
