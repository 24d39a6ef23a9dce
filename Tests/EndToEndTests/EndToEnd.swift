import Testing

/// Tests with real daemons. Each starts half a dozen processes, which mostly wait: three at a time, one of each group, keep two
/// cores busy.
@Suite(.timeLimit(.minutes(1))) enum EndToEnd {
  @Suite(.serialized) enum Sessions {}
  @Suite(.serialized) enum Messengers {}
  @Suite(.serialized) enum Operation {}
}
