"""Serve one bot: the agent under test, or the simulated user. See ``python bot_server.py --help``."""

import sys

from duologue.cli.serve import main

if __name__ == "__main__":
    sys.exit(main())
