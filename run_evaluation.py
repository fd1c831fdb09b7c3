"""Run spoken conversations between two bots and score them; ``--help`` lists the flags.

``run_evaluation.py rescore RUN_DIR`` scores a stored run again, without a call.
"""

import os
import signal
import sys

if __name__ == "__main__":
    # While the program is still loading there is nothing to tidy up, and Ctrl-C just ends it.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from duologue.cli.evaluate import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
