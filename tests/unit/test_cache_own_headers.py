"""What belongs to one caller's answer, and a refusal of one caller, never reach another."""

from threading import Barrier, Thread
from wsgiref.util import setup_testing_defaults

from service.cache import OWN_HEADERS, UNASKED, ByteCache, MemoryCache, Tiers, answer_key


def ask(cached, address):
    environ = {"REMOTE_ADDR": address, "PATH_INFO": "/x"}
    setup_testing_defaults(environ)
    started = []
    body = b"".join(cached(environ, lambda status, headers, _=None: started.append((status, headers))))
    status, headers = started[0]
    return status[:3], dict(headers), body


class Application:
    """Refuses one address, and tells every other what is left for it."""

    def __init__(self, refused=None, at_once=1):
        self.refused = refused
        self.unasked = []
        self.together = Barrier(at_once)

    def __call__(self, environ, start_response):
        address = environ["REMOTE_ADDR"]
        self.unasked.append(environ[UNASKED])
        environ[OWN_HEADERS] = [("RateLimit", address)]
        if address == self.refused:
            self.together.wait(10)
            start_response("429 Too Many Requests", [("RateLimit", address)])
            return [b"refused"]
        start_response("200 OK", [("ETag", '"1"'), ("RateLimit", address), ("Cache-Control", "public")])
        return [b"answer"]


def layer(application):
    tiers = Tiers("p:", MemoryCache(2**20))
    return ByteCache(application, tiers, lambda environ: answer_key(environ))


def test_headers_of_one_answer_are_not_kept():
    """Who computes gets its own headers; who comes later gets the answer without them."""
    cached = layer(Application())
    assert ask(cached, "a")[1]["RateLimit"] == "a"
    status, headers, body = ask(cached, "b")
    assert (status, body, headers["X-Cache"]) == ("200", b"answer", "hit-memory")
    assert "RateLimit" not in headers


def test_a_refusal_is_not_shared():
    """Who waits for another's computation is not refused with it, but computes for itself."""
    application = Application(refused="greedy", at_once=2)
    cached = layer(application)
    answers = {}
    greedy = Thread(target=lambda: answers.update(greedy=ask(cached, "greedy")))
    greedy.start()
    while not application.unasked:  # until it computes
        pass
    patient = Thread(target=lambda: answers.update(patient=ask(cached, "patient")))
    patient.start()
    application.together.wait(10)
    greedy.join(10)
    patient.join(10)
    assert answers["greedy"][0] == "429"
    assert answers["patient"][0] == "200"
    assert answers["patient"][1]["RateLimit"] == "patient"


def test_a_caller_is_not_charged_for_what_is_refreshed():
    """An answer computed in another thread than the caller's says that nobody waits for it."""
    application = Application()
    cached = layer(application)
    environ = {"REMOTE_ADDR": "a", "PATH_INFO": "/x"}
    setup_testing_defaults(environ)
    in_background = Thread(target=lambda: cached._compute(environ, "", 0))
    in_background.start()
    in_background.join(10)
    assert application.unasked == [True]
    assert OWN_HEADERS not in environ
    ask(cached, "a")
    assert application.unasked == [True, False]
