import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, NamedError, refusalLine, type Refusal } from '../../domain/errors.js';
import {
  httpAddress,
  operatorListener,
  reachable,
  type Environment,
  type Listener,
} from '../settings/settings.js';

/** The service refused the call. (exit code 1) */
export class ServiceRefused extends NamedError {
  constructor(
    message: string,
    /** The body of the response, unchanged. */
    readonly text = '',
    /** The HTTP status of the response; 0 if there was none. */
    readonly status = 0,
  ) {
    super(message);
  }
}

/** The exit codes of the command line. (docs/operations.md#exit-codes) */
export const exitCodes = {
  done: 0,
  refused: 1,
  wrongUsage: 2,
  noListener: 3,
  notTaken: 4,
  unreachable: 69,
} as const;

export class Unreachable extends NamedError {}

/** The command line or the settings are wrong. */
export class WrongUsage extends NamedError {}

/** Does the work. What it throws becomes an error of the kind, which says first what has failed. */
export const explained = <Result>(
  Kind: new (message: string) => Error,
  what: string,
  work: () => Result,
): Result => {
  try {
    return work();
  } catch (error) {
    throw new Kind(`${what}: ${messageOf(error)}`);
  }
};

/** An event was given to no listener, or not taken by a program. */
export class NotDelivered extends NamedError {
  constructor(
    readonly code: 'noListener' | 'notTaken',
    message: string,
  ) {
    super(message);
  }
}

export interface OperatorCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/operator/v1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** Undefined fields are left out. */
  readonly body?: object;
}

export type OperatorClient = ReturnType<typeof clientOf>;

const setting = (environment: Environment, name: string, fallback: string): string => {
  const value = environment[name]?.trim();
  return value === undefined || value === '' ? fallback : value;
};

/** Throws WrongUsage. */
const portIn = (environment: Environment, name: string): number | null => {
  const text = setting(environment, name, '');
  if (text === '') return null;
  if (/^\d+$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new WrongUsage(`${name} must be a whole number from 0 to 65535, not "${text}".`);
};

const listenerIn = (environment: Environment): Listener => ({
  host: setting(environment, 'HOST', '127.0.0.1'),
  port: portIn(environment, 'PORT') ?? 8080,
});

/** Where clients with an API key find the service. */
const publicAddressIn = (environment: Environment): string => {
  const baseUrl = setting(environment, 'BASE_URL', '');
  if (baseUrl !== '') return baseUrl.replace(/\/+$/, '');
  const { host, port } = listenerIn(environment);
  return httpAddress({ host: reachable(host), port });
};

/**
 * The operator's own listener if the settings give it one, as the service reads them; else the public one.
 */
const addressIn = (environment: Environment): string => {
  const open = listenerIn(environment);
  const own = operatorListener(open, {
    host: setting(environment, 'OPERATOR_HOST', '') || null,
    port: portIn(environment, 'OPERATOR_PORT'),
  });
  // A HOST that is none must be complained about, not passed over.
  return own !== null && URL.canParse(httpAddress(open))
    ? httpAddress({ ...own, host: reachable(own.host) })
    : publicAddressIn(environment);
};

/** The settings, with another address of the service: that of `--base-url`. */
export const withAddress = (environment: Environment, address: string): Environment => ({
  ...environment,
  HOST: undefined,
  PORT: undefined,
  OPERATOR_HOST: undefined,
  OPERATOR_PORT: undefined,
  BASE_URL: address,
});

/** Throws WrongUsage if the settings give no valid address. */
const urlOf = (address: string, path: string): URL => {
  if (!URL.canParse(address) || !/^https?:/i.test(address))
    throw new WrongUsage(
      `${address} is no address: it begins with http:// or https://. Set BASE_URL, or HOST and PORT, or OPERATOR_HOST and OPERATOR_PORT.`,
    );
  return new URL(`${address}${path}`);
};

const tokenIn = (environment: Environment): string => {
  const usual = join(setting(environment, 'DATA_DIR', './data'), 'operator.token');
  const path = setting(environment, 'OPERATOR_TOKEN_FILE', usual);
  let token: string;
  try {
    token = readFileSync(path, 'utf8').trim();
  } catch {
    throw new Unreachable(
      `The operator token can't be read from ${path}. Start the service first, or set OPERATOR_TOKEN_FILE.`,
    );
  }
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new WrongUsage(
      `${path} holds no operator token: it must be one line of plain text. Check OPERATOR_TOKEN_FILE.`,
    );
  return token;
};

/** The refusal in a response, in the words of the API if it has some. */
const refusalIn = (text: string, status: number): ServiceRefused => {
  let message = `The service responded with ${status}.`;
  try {
    const { error } = JSON.parse(text) as { readonly error?: Partial<Refusal> };
    if (error?.code !== undefined)
      message = refusalLine({ message: '', param: null, ...error, code: error.code });
  } catch {
    // No JSON: another program may have responded.
  }
  return new ServiceRefused(message, text, status);
};

const connectionLost = (address: string): string =>
  `The connection to the service at ${address} was lost. Is it still running?`;

/**
 * `addressOf`: asked at each call, for many verbs make none. `root`: the prefix of each call's path. `token`:
 * the bearer token; throws if there is none.
 */
const clientOf = (addressOf: () => string, root: string, token: () => string) => {
  const send = async (
    { method, path, query = {}, body }: OperatorCall,
    signal?: AbortSignal,
    accept?: string,
  ): Promise<Response> => {
    const address = addressOf();
    const url = urlOf(address, `${root}${path}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, value);
    const headers = {
      authorization: `Bearer ${token()}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(accept !== undefined && { accept }),
    };
    const response = await fetch(url, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    }).catch((error: unknown) => {
      if (signal?.aborted === true) throw error;
      throw new Unreachable(
        `The service can't be reached at ${address}. Is it running? Set BASE_URL, or HOST and PORT, or OPERATOR_HOST and OPERATOR_PORT.`,
        { cause: error },
      );
    });
    if (response.ok) return response;
    throw refusalIn(await response.text(), response.status);
  };

  return {
    /** Returns the body of the response. Throws ServiceRefused and Unreachable. */
    call: async (call: OperatorCall) => (await send(call)).text(),
    /**
     * Yields the body of the response as it arrives. Throws ServiceRefused, and Unreachable if the service
     * breaks it off or can't be reached.
     */
    async *pieces(call: OperatorCall): AsyncGenerator<Uint8Array> {
      const { body } = await send(call);
      try {
        for await (const piece of body ?? []) yield piece;
      } catch (error) {
        throw new Unreachable(connectionLost(addressOf()), { cause: error });
      }
    },
    /**
     * Yields the data of each server-sent event until the signal aborts, or the stream reports its end. Calls
     * `onOpen` when the response starts. Throws ServiceRefused, and Unreachable if the service ends the
     * stream before or can't be reached.
     */
    async *stream(call: OperatorCall, signal: AbortSignal, onOpen?: () => void): AsyncGenerator<string> {
      let isDone = false;
      try {
        const { body } = await send(call, signal, 'text/event-stream');
        onOpen?.();
        let rest = '';
        for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
          const events = (rest + chunk).split('\n\n');
          rest = events.pop() ?? '';
          for (const event of events) {
            const lines = event.split('\n');
            const text = lines
              .filter((line) => line.startsWith('data:'))
              .map((line) => line.slice('data:'.length).trimStart())
              .join('\n');
            if (lines.includes('event: position'))
              isDone = (JSON.parse(text) as { readonly done?: boolean }).done === true;
            else if (text !== '') yield text;
          }
        }
      } catch (error) {
        if (signal.aborted) return;
        throw error instanceof ServiceRefused || error instanceof Unreachable
          ? error
          : new Unreachable(connectionLost(addressOf()), { cause: error });
      }
      if (!signal.aborted && !isDone) throw new Unreachable(connectionLost(addressOf()));
    },
  };
};

/**
 * A client of the operator API. It finds the service by the service's own settings: the operator's listener
 * if it has one of its own, `BASE_URL`, or else `http://HOST:PORT`, with the token in `OPERATOR_TOKEN_FILE`.
 */
export const operatorClient = (environment: Environment): OperatorClient =>
  clientOf(
    () => addressIn(environment),
    '/operator/v1',
    () => tokenIn(environment),
  );

/** The API key that was given, else the one in `API_KEY`; null if there is none. */
export const apiKeyIn = (environment: Environment, given = environment['API_KEY']): string | null =>
  given?.trim() || null;

/** A client with an API key. Paths begin below `/api/v1`. */
export const keyClient = (environment: Environment, key: string): OperatorClient =>
  clientOf(
    () => publicAddressIn(environment),
    '/api/v1',
    () => key,
  );

/** Reads a path of the public API that needs no key. Throws ServiceRefused and Unreachable. */
export const readPublic = async (environment: Environment, path: string): Promise<Buffer> => {
  const address = publicAddressIn(environment);
  const response = await fetch(urlOf(address, path)).catch((error: unknown) => {
    throw new Unreachable(`The service can't be reached at ${address}.`, { cause: error });
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.ok) return bytes;
  throw refusalIn(bytes.toString(), response.status);
};
