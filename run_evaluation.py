"""Run spoken conversations between two bots and score them; ``--help`` lists the flags.

``run_evaluation.py rescore RUN_DIR`` scores a stored run again, without a call.
"""

import sys

if __name__ == "__main__":
    try:
        from duologue.cli.evaluate import main
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(main())
