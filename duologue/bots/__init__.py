"""A bot process: Pipecat sessions on media time. The only place that imports Pipecat's pipeline.

Session clocks and the log bridge have to be in place before Pipecat is imported, hence here.
"""

from duologue.bots.logs import bridge_loguru
from duologue.bots.media_clock import install

install()
bridge_loguru()
