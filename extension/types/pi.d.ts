// The part of pi's extension interface that this extension uses. Optional members are missing in some releases of pi.

type Content = string | ({ type: "text"; text: string } | ImageContent)[];

interface ImageContent {
  type: "image";
  data: string;
  mimeType: string;
}

interface PiModel {
  id: string;
  provider: string;
  [field: string]: any;
}

interface PiEntry {
  id: string;
  type: string;
  message?: any;
  customType?: string;
  data?: any;
  [field: string]: any;
}

interface PiDialogOptions {
  signal?: AbortSignal;
  timeout?: number;
}

interface PiInterface {
  notify(message: string, kind?: "info" | "warning" | "error"): void;
  setStatus(key: string, text: string | undefined): void;
  select(title: string, options: string[], dialog?: PiDialogOptions): Promise<string | undefined>;
  input(title: string, placeholder?: string, dialog?: PiDialogOptions): Promise<string | undefined>;
}

interface PiContext {
  ui: PiInterface;
  cwd: string;
  hasUI: boolean;
  mode?: "tui" | "rpc" | "json" | "print";
  model?: PiModel;
  signal?: AbortSignal;
  modelRegistry: {
    getAvailable(): PiModel[] | Promise<PiModel[]>;
    find(provider: string, id: string): PiModel | undefined;
    hasConfiguredAuth?(model: PiModel): boolean;
    getApiKeyAndHeaders?(model: PiModel): Promise<{ apiKey?: string; headers?: object }>;
  };
  sessionManager: {
    getSessionId(): string;
    getSessionFile(): string | undefined;
    getEntries(): PiEntry[];
    getBranch(): PiEntry[];
    getLeafId(): string | null;
  };
  isIdle(): boolean;
  hasPendingMessages(): boolean;
  abort(): void;
  shutdown(): void;
  compact(options?: { customInstructions?: string; onComplete?(result: any): void; onError?(error: Error): void }): void;
  getContextUsage?(): any;
  isProjectTrusted?(): boolean;
}

interface PiCompletion {
  value: string;
  label: string;
  description?: string;
}

interface PiCommandInfo {
  name: string;
  description?: string;
  source: "extension" | "prompt" | "skill";
  sourceInfo?: { path: string; [field: string]: any };
  path?: string;
}

interface PiTool {
  name: string;
  label: string;
  description: string;
  promptSnippet?: string;
  executionMode?: "sequential" | "parallel";
  parameters: object;
  execute(
    call: string,
    parameters: any,
    signal: AbortSignal | undefined,
    onUpdate: unknown,
    ctx: PiContext,
  ): Promise<{ content: { type: "text"; text: string }[]; details: any }>;
}

interface PiAPI {
  on(event: string, handler: (event: any, ctx: PiContext) => any): void;
  registerTool(tool: PiTool): void;
  registerCommand(
    name: string,
    options: {
      description: string;
      handler(args: string, ctx: PiContext): Promise<void> | void;
      getArgumentCompletions?(prefix: string): PiCompletion[] | null;
    },
  ): void;
  sendUserMessage(content: Content, options?: { deliverAs?: "steer" | "followUp"; expandPromptTemplates?: boolean }): void;
  appendEntry?(customType: string, data?: any): void;
  getSessionName(): string | undefined;
  setSessionName(name: string): void;
  getCommands(): PiCommandInfo[];
  setModel(model: PiModel): Promise<boolean>;
  getThinkingLevel(): string;
  setThinkingLevel(level: string): void;
  exec(
    command: string,
    args: string[],
    options?: { timeout?: number; signal?: AbortSignal },
  ): Promise<{ stdout: string; stderr: string; code: number; killed?: boolean }>;
  events?: { on(name: string, handler: (data: any) => void): void };
}
