import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../time/eventually.js';

/** The path of an example as people run it. */
export const exampleFile = (name: string): string =>
  fileURLToPath(new URL(`../../../../examples/${name}`, import.meta.url));

export interface RunningExample {
  /** What it has printed so far, on both outputs. */
  readonly output: () => string;
  readonly ended: Promise<number | null>;
  /** Resolves when its process has ended. */
  readonly kill: (signal?: NodeJS.Signals) => Promise<void>;
}

/**
 * Starts a program with these settings and no others. Its PATH begins with the folders that `PATH` names.
 */
export const startProgram = (
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): RunningExample => {
  const child = spawn(program, args, {
    env: { ...environment, PATH: [environment['PATH'], process.env['PATH']].filter(Boolean).join(delimiter) },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<number | null>((done, fail) => {
    child.once('error', fail);
    child.once('close', done);
  });
  return {
    output: () => output,
    ended,
    kill: async (signal = 'SIGKILL') => {
      child.kill(signal);
      await ended;
    },
  };
};

/** Starts an example with these settings and no others. */
export const startExample = (
  name: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): RunningExample => {
  const program = name.endsWith('.mjs') ? process.execPath : name.endsWith('.py') ? 'python3' : 'sh';
  return startProgram(program, [exampleFile(name), ...args], environment);
};

/** Waits until an example has printed a text, and returns all that it has printed. */
export const printed = (example: RunningExample, text: string | RegExp): Promise<string> =>
  eventually(
    () => {
      const output = example.output();
      return (typeof text === 'string' ? output.includes(text) : text.test(output)) ? output : null;
    },
    { what: `the output ${text}` },
  );

/** The lines of an example's inbox. */
export const inboxOf = (path: string): readonly Readonly<Record<string, unknown>>[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    : [];

interface Delivery {
  readonly body: Uint8Array | string | object;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> | Headers;
  readonly secrets: readonly string[];
  readonly now?: number;
  readonly tolerance?: number;
}

/** What `examples/verify-webhook.mjs` exports. */
export interface Verifier {
  readonly verifyWebhook: (delivery: Delivery) => {
    readonly event: { readonly type: string };
    readonly delivery: string;
  };
  readonly WebhookVerificationError: new (
    problem: string,
    message: string,
  ) => Error & { readonly problem: string };
}

export const loadVerifier = async (): Promise<Verifier> =>
  (await import(exampleFile('verify-webhook.mjs'))) as Verifier;
