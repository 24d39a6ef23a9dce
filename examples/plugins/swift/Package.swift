// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "file-messenger",
  dependencies: [.package(name: "pi-relay", path: "../../..")],
  targets: [
    .executableTarget(
      name: "file-messenger",
      dependencies: [
        .product(name: "MessengerKit", package: "pi-relay"), .product(name: "PluginSDK", package: "pi-relay"),
      ])
  ]
)
