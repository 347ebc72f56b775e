import sys

from paraes.objects.cli import main

sys.exit(main())
