/// The tables, as they came to be.
enum Schema {
  /// The steps from version to version. A released step is never changed; another one follows it.
  static let migrations = [
    firstTables, whatIsOpen, backoff, wishes, roles, reservations, notices, homes, shownModels, toldNotices,
    unfinishedWork, approvals, attachments, pairings,
  ]

  static var version: Int { migrations.count }

  /// Brings the database to this version.
  static func update(_ connection: SQLiteConnection, path: String) throws {
    let found = try connection.rows("PRAGMA user_version") { $0.integer(0) }.first ?? 0
    guard found <= version else {
      throw StoreError(
        "\(path) was written by a newer pi-relayd (schema \(found), this one knows \(version)); use that version, or "
          + "set PI_RELAY_HOME to another folder")
    }
    // Nothing is built on damage.
    if found > 0, found < version { try SQLiteStore.check(connection, path) }
    for number in found..<version {
      try connection.transaction {
        try connection.execute(migrations[number])
        try connection.execute("PRAGMA user_version = \(number + 1)")
      }
    }
  }

  // Each index is another page to write at each commit: only what is unfinished or failed has one, and it is small.
  private static let firstTables = """
    -- The words go when the message has ended; the row stays a while, so that a repeat of it is known.
    CREATE TABLE message (
      number INTEGER PRIMARY KEY,
      instance TEXT NOT NULL, conversation TEXT NOT NULL, id TEXT NOT NULL,
      stage INTEGER NOT NULL, session TEXT, entryBefore TEXT,
      body BLOB, endedAt REAL,
      UNIQUE (instance, conversation, id)
    );

    CREATE TABLE outbound (
      number INTEGER PRIMARY KEY,
      key TEXT NOT NULL UNIQUE,
      instance TEXT NOT NULL, conversation TEXT NOT NULL,
      kind INTEGER NOT NULL, body BLOB,
      result INTEGER, detail TEXT, settledAt REAL
    );

    CREATE TABLE session (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL, directory TEXT NOT NULL, model TEXT, wantsToolImages INTEGER NOT NULL
    );

    CREATE TABLE binding (
      instance TEXT NOT NULL, conversation TEXT NOT NULL,
      session TEXT NOT NULL, body BLOB NOT NULL,
      PRIMARY KEY (instance, conversation)
    ) WITHOUT ROWID;
    CREATE INDEX bindingSession ON binding (session);

    CREATE TABLE pluginState (instance TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
    """

  private static let whatIsOpen = """
    -- What was sent is to be changed yet: a message that grows, a question that waits.
    ALTER TABLE outbound ADD COLUMN isOpen INTEGER NOT NULL DEFAULT 0;
    -- How the message ended, for as long as its messenger has not been told.
    ALTER TABLE message ADD COLUMN outcome TEXT;
    -- It came while a question waited for an answer.
    ALTER TABLE message ADD COLUMN isAnswer INTEGER NOT NULL DEFAULT 0;
    """

  private static let backoff = """
    -- Plugins that end again and again: how often in a row, and when the next start is due.
    CREATE TABLE backoff (instance TEXT PRIMARY KEY, failures INTEGER NOT NULL, due REAL NOT NULL) WITHOUT ROWID;
    """

  private static let wishes = """
    -- The person has taken it back while it waited.
    ALTER TABLE message ADD COLUMN isWithdrawn INTEGER NOT NULL DEFAULT 0;
    -- Tries that failed; when the last was, and the seconds to wait after it.
    ALTER TABLE outbound ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE outbound ADD COLUMN triedAt REAL;
    ALTER TABLE outbound ADD COLUMN wait REAL;
    -- Plugins switched off by hand.
    CREATE TABLE switchedOff (instance TEXT PRIMARY KEY) WITHOUT ROWID;
    """

  private static let roles = """
    -- What a session is for; null: for working with.
    ALTER TABLE session ADD COLUMN role TEXT;
    """

  /// Nothing changes but what is in the tables, which no earlier version understands.
  private static let reservations = "-- Rows of kind 5 in outbound: the key of an answer before its words."

  private static let notices = """
    -- The conversation has been told that the demo agent answers.
    ALTER TABLE session ADD COLUMN knowsDemo INTEGER NOT NULL DEFAULT 0;
    """

  private static let homes = """
    -- The conversation that began the session: only it may address an assistant's.
    ALTER TABLE session ADD COLUMN homeInstance TEXT;
    ALTER TABLE session ADD COLUMN homeConversation TEXT;
    -- Where several talk to one already, nothing tells which of them began it.
    UPDATE session SET
      homeInstance = (SELECT instance FROM binding WHERE session = session.id),
      homeConversation = (SELECT conversation FROM binding WHERE session = session.id)
    WHERE role IS NOT NULL AND (SELECT count(*) FROM binding WHERE session = session.id) = 1;
    """

  private static let toldNotices = """
    -- Notices that people are told once, and have been told; session.knowsDemo is no longer used.
    CREATE TABLE notice (text TEXT PRIMARY KEY) WITHOUT ROWID;
    """

  private static let shownModels = """
    -- The model that the session's agent named last.
    ALTER TABLE session ADD COLUMN shownModel TEXT;
    """

  private static let unfinishedWork = """
    -- A start and a stop look for unfinished work among any amount of ended work.
    CREATE INDEX unfinishedMessage ON message (instance) WHERE endedAt IS NULL OR outcome IS NOT NULL;
    CREATE INDEX unfinishedOutbound ON outbound (instance) WHERE settledAt IS NULL OR isOpen;
    CREATE INDEX failedOutbound ON outbound (instance) WHERE result = 1;
    """

  private static let attachments = """
    -- A person runs the session's agent in a terminal.
    ALTER TABLE session ADD COLUMN isAttached INTEGER NOT NULL DEFAULT 0;
    """

  private static let pairings = """
    -- People who were admitted to one conversation at the terminal. One that was revoked stays, so that it is known as such; the
    -- session is empty where the person begins sessions.
    CREATE TABLE pairing (
      id TEXT PRIMARY KEY, instance TEXT NOT NULL, conversation TEXT NOT NULL, person TEXT NOT NULL, session TEXT NOT NULL,
      name TEXT NOT NULL, label TEXT, state TEXT NOT NULL, createdAt REAL NOT NULL,
      UNIQUE (instance, conversation, person, session)
    ) WITHOUT ROWID;
    -- People whose pairings need no confirmation.
    CREATE TABLE trustedPerson (
      instance TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL, since REAL NOT NULL,
      PRIMARY KEY (instance, person)
    ) WITHOUT ROWID;
    """

  private static let approvals = """
    -- The latest steps of approvals, without any input of a tool. Where nobody could be asked, the requester is null.
    CREATE TABLE approvalEvent (
      number INTEGER PRIMARY KEY,
      kind TEXT NOT NULL, at REAL NOT NULL, approval TEXT NOT NULL, session TEXT NOT NULL,
      instance TEXT, conversation TEXT, person TEXT,
      tool TEXT NOT NULL, category TEXT NOT NULL, rule TEXT NOT NULL, summary TEXT NOT NULL, detail TEXT
    );
    -- Calls that a person has approved for all sessions, by their fingerprints.
    CREATE TABLE approvalGrant (
      id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL,
      instance TEXT NOT NULL, conversation TEXT NOT NULL, person TEXT NOT NULL,
      summary TEXT NOT NULL, createdAt REAL NOT NULL, expiresAt REAL NOT NULL
    ) WITHOUT ROWID;
    """
}
