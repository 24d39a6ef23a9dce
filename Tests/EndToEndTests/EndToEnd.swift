import Testing

/// Tests with real daemons. One at a time: each starts half a dozen processes, and two cores are soon busy.
@Suite(.serialized, .timeLimit(.minutes(1))) enum EndToEnd {}
