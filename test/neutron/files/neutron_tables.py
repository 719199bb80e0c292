# Neutron's migrations do not run on SQLite, which cannot alter constraints: the
# tables are made from its models.
import sys

import sqlalchemy
from neutron.db.migration.models import head

head.get_metadata().create_all(sqlalchemy.create_engine("sqlite:///" + sys.argv[1]))
