internal import GRDB

/// The tables, as they came to be. A migration that has been released is never changed: the next one follows it.
enum Schema {
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1: messages, sends, sessions") { try makeFirstTables($0) }
    return migrator
  }

  private static func makeFirstTables(_ db: Database) throws {
    try db.execute(
      sql: """
        -- The words go when the message has ended; the row stays a while, so that a repeat of it is known.
        CREATE TABLE message (
          number INTEGER PRIMARY KEY,
          instance TEXT NOT NULL, conversation TEXT NOT NULL, id TEXT NOT NULL,
          stage INTEGER NOT NULL, session TEXT, entryBefore TEXT,
          body BLOB, endedAt REAL,
          UNIQUE (instance, conversation, id)
        );
        CREATE INDEX messageUnfinished ON message (instance, number) WHERE endedAt IS NULL;
        CREATE INDEX messageEnded ON message (endedAt) WHERE endedAt IS NOT NULL;

        CREATE TABLE outbound (
          number INTEGER PRIMARY KEY,
          key TEXT NOT NULL UNIQUE,
          instance TEXT NOT NULL, conversation TEXT NOT NULL,
          kind INTEGER NOT NULL, body BLOB,
          result INTEGER, detail TEXT, settledAt REAL
        );
        CREATE INDEX outboundUnsettled ON outbound (instance, number) WHERE settledAt IS NULL;
        CREATE INDEX outboundSettled ON outbound (settledAt) WHERE settledAt IS NOT NULL;

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
        """)
  }
}
