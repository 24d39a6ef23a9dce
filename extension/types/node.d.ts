// The part of Node that this extension uses, for a check without packages.

interface NodeTimer {
  unref(): void;
}

declare function setTimeout(run: () => void, milliseconds: number): NodeTimer;
declare function clearTimeout(timer: NodeTimer): void;
declare function setImmediate(run: () => void): unknown;

declare class AbortSignal {
  readonly aborted: boolean;
  readonly reason: any;
  addEventListener(name: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(name: "abort", listener: () => void): void;
}

declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

declare class Buffer extends Uint8Array {
  static byteLength(text: string): number;
  static concat(parts: Buffer[]): Buffer;
  indexOf(value: number, from?: number): number;
  subarray(start?: number, end?: number): Buffer;
  toString(encoding?: string): string;
}

declare const process: {
  env: Record<string, string | undefined>;
  pid: number;
  version: string;
  stdin: { isTTY?: boolean };
  getuid?(): number;
};

declare module "node:net" {
  interface Socket {
    readonly writableLength: number;
    on(event: "data", listener: (chunk: Buffer) => void): this;
    on(event: "connect" | "close" | "drain", listener: () => void): this;
    on(event: "error", listener: (error: Error & { code?: string }) => void): this;
    write(text: string): boolean;
    end(): void;
    destroy(): void;
    unref(): void;
  }
  function createConnection(path: string): Socket;
}

declare module "node:fs" {
  interface Stats {
    uid: number;
    size: number;
    isSocket(): boolean;
    isDirectory(): boolean;
  }
  interface Watcher {
    on(event: "error", listener: (error: Error) => void): this;
    unref(): void;
    close(): void;
  }
  function statSync(path: string): Stats;
  function existsSync(path: string): boolean;
  function readFileSync(path: string, encoding: "utf8"): string;
  function watch(path: string, options: { persistent: boolean }, listener: () => void): Watcher;
}

declare module "node:fs/promises" {
  function stat(path: string): Promise<import("node:fs").Stats>;
  function readFile(path: string, encoding: "utf8"): Promise<string>;
  function readFile(path: string): Promise<Buffer>;
}

declare module "node:path" {
  function join(...parts: string[]): string;
  function dirname(path: string): string;
  function basename(path: string): string;
  function resolve(...parts: string[]): string;
}

declare module "node:os" {
  function homedir(): string;
}

declare module "node:crypto" {
  function createHash(name: string): { update(text: string): { digest(encoding: "hex"): string } };
}
