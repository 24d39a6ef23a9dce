"""A home with many sleeping sessions and much that has ended, against an empty home."""
import sqlite3
import statistics

from crowd import Crowd
from harness import memory_mb

# The names are those of the full run; a quick run takes fewer sessions under the same names.
SESSIONS, ROWS = 10_000, 1_000_000
NAME = f"scale.sleeping_{SESSIONS}"
GOALS = {
    f"{NAME}.ready_ms_vs_empty": ("<=", 1.5), f"{NAME}.daemon_rss_mb_vs_empty": ("<=", 1.3),
    f"{NAME}.stop_ms_vs_empty": ("<=", 1.5),
}
# The conversation whose rows are multiplied.
SEED = "seed"


def fill(path, sessions, rows):
    """Multiplies what one answered message has left in the database: sessions with their bindings, then messages and sends."""
    with sqlite3.connect(path) as database:
        database.executescript("PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF;")
        left = database.execute("SELECT (SELECT count(*) FROM message WHERE endedAt IS NULL OR outcome IS NOT NULL) "
                                "+ (SELECT count(*) FROM outbound WHERE settledAt IS NULL OR isOpen)").fetchone()[0]
        if left:
            raise SystemExit(f"{left} rows of the message to be multiplied have not ended")
        multiply(database, "session", sessions, id="'s' || i", name="'s' || i")
        multiply(database, "binding", sessions, conversation="'c' || i", session="'s' || i",
                 body=f"CAST(replace(body, '\"{SEED}\"', '\"c' || i || '\"') AS BLOB)")
        conversation = f"'c' || (i % {sessions})"
        multiply(database, "message", rows, id="'m' || i", conversation=conversation)
        multiply(database, "outbound", rows, key="'k' || i", conversation=conversation)
    database.close()


def multiply(database, table, count, **changes):
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    if "number" in columns:
        changes["number"] = "NULL"
    database.execute(f"""
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {count - 1}),
        pattern AS (SELECT * FROM {table} LIMIT 1)
        INSERT INTO {table} ({", ".join(columns)})
        SELECT {", ".join(changes.get(column, column) for column in columns)} FROM pattern, n""")


def visit(home, crowd, conversation):
    """One start and stop with a few messages between: figures by name."""
    with home.daemon() as daemon:
        crowd.connected()
        first = crowd.tell("first", [conversation])[0]
        answers = [crowd.tell(f"note {number} of many", [conversation])[0] for number in range(20)]
        figures = {
            "ready_ms": daemon.ready_ms, "first_answer_ms": (first["shown"] - daemon.began) * 1000,
            "answer_ms_p50": statistics.median((end["shown"] - end["said"]) * 1000 for end in answers),
            "daemon_rss_mb": memory_mb([daemon.pid], "Rss"),
        }
    crowd.disconnect()
    return dict(figures, stop_ms=daemon.stop_ms)


def measure(bench):
    sessions, rows = bench.amount((SESSIONS, ROWS), (100, 1_000))
    full, empty = bench.home(), [bench.home() for _ in range(bench.runs)]
    with Crowd(full, 8) as crowd:
        visit(full, crowd, SEED)
        fill(full.path + "/state/relay.db", sessions, rows)
        rounds = []
        # In turn, so that a machine that is slow for a while is slow for both.
        for number, home in enumerate(empty):
            with Crowd(home, 8) as other:
                rounds.append((visit(full, crowd, f"c{number}"), visit(home, other, "c")))
    for figure in rounds[0][0]:
        bench.note(f"{NAME}.{figure}", statistics.median(full[figure] for full, _ in rounds))
        bench.note(f"scale.empty.{figure}", statistics.median(empty[figure] for _, empty in rounds))
        bench.note(f"{NAME}.{figure}_vs_empty", statistics.median(full[figure] / empty[figure] for full, empty in rounds))
