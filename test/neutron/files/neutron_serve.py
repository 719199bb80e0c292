import sys

from neutron.cmd.eventlet.server import main

sys.exit(main())
