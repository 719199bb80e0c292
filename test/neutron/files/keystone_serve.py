# keystone-wsgi-public's own server has one thread: one idle connection blocks it
# for ever.
import socketserver
import sys
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

port = int(sys.argv.pop(1))

from keystone.server.wsgi import initialize_public_application


class Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 128


class Handler(WSGIRequestHandler):
    def log_message(self, *args):
        pass


make_server("127.0.0.1", port, initialize_public_application(), Server, Handler).serve_forever()
