"""`python -m paraes.lab` is `paraes-lab`."""

import sys

from paraes.lab.cli import main

sys.exit(main())
