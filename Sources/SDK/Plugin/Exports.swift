@_exported public import RelayWire
