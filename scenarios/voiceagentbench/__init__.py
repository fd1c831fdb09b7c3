"""VoiceAgentBench: voice in, tool calls out, six suites, four axes."""

from scenarios.voiceagentbench import catalogue as catalogue
from scenarios.voiceagentbench import grading as grading
from scenarios.voiceagentbench import report as report
from scenarios.voiceagentbench import vectors as vectors
