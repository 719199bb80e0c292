# A reader and a writer at once: without it Keystone locks itself out.
import sqlite3
import sys

for path in sys.argv[1:]:
    sqlite3.connect(path).execute("pragma journal_mode=wal")
