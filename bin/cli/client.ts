import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { operatorListener } from '../settings/settings.js';

/** The service refused the call. (exit code 1) */
export class ServiceRefused extends Error {
  override readonly name = 'Refused';

  constructor(
    message: string,
    /** The body of the response, unchanged. */
    readonly text: string,
    /** The HTTP status of the response; 0 if there was none. */
    readonly status: number,
  ) {
    super(message);
  }
}

/** The service can't be reached. (exit code 69) */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/** The command line or the settings are wrong. (exit code 2) */
export class WrongUsage extends Error {
  override readonly name = 'WrongUsage';
}

/** An event was given to no listener (exit code 3), or not taken by a program (4). */
export class NotDelivered extends Error {
  override readonly name = 'NotDelivered';

  constructor(
    readonly exitCode: 3 | 4,
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

export interface OperatorClient {
  /** Returns the body of the response. Throws ServiceRefused and Unreachable. */
  readonly call: (call: OperatorCall) => Promise<string>;
  /**
   * Yields the body of the response as it arrives. Throws ServiceRefused, and Unreachable if the service
   * breaks it off or can't be reached.
   */
  readonly pieces: (call: OperatorCall) => AsyncIterable<Uint8Array>;
  /**
   * Yields the data of each server-sent event until the signal aborts, or the stream reports its end. Throws
   * ServiceRefused, and Unreachable if the service ends the stream before or can't be reached.
   */
  readonly stream: (
    call: OperatorCall,
    signal: AbortSignal,
    /** Called when the response starts. */
    onOpen?: () => void,
  ) => AsyncIterable<string>;
}

type Environment = Readonly<Record<string, string | undefined>>;

const setting = (environment: Environment, name: string, fallback: string): string => {
  const value = environment[name]?.trim();
  return value === undefined || value === '' ? fallback : value;
};

const portIn = (environment: Environment, name: string): number | null => {
  const text = setting(environment, name, '');
  return text === '' ? null : Number(text);
};

/** The address at which a client reaches a listener on all addresses of this machine. */
const reachable = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);

const httpAddress = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/**
 * The operator's own listener if the settings give it one, as the service reads them; else the public one.
 */
const addressIn = (environment: Environment): string => {
  const open = {
    host: setting(environment, 'HOST', '127.0.0.1'),
    port: portIn(environment, 'PORT') ?? 8080,
  };
  const own = operatorListener(open, {
    host: setting(environment, 'OPERATOR_HOST', '') || null,
    port: portIn(environment, 'OPERATOR_PORT'),
  });
  // A HOST that is none must be complained about, not passed over.
  if (own !== null && URL.canParse(httpAddress(open.host, open.port)))
    return httpAddress(reachable(own.host), own.port);
  return setting(environment, 'BASE_URL', httpAddress(reachable(open.host), open.port)).replace(/\/+$/, '');
};

/** Where clients with an API key find the service. */
const publicAddressIn = (environment: Environment): string =>
  setting(
    environment,
    'BASE_URL',
    httpAddress(reachable(setting(environment, 'HOST', '127.0.0.1')), portIn(environment, 'PORT') ?? 8080),
  ).replace(/\/+$/, '');

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
  if (!URL.canParse(address))
    throw new WrongUsage(
      `${address} is no address. Set BASE_URL, or HOST and PORT, or OPERATOR_HOST and OPERATOR_PORT.`,
    );
  return new URL(`${address}${path}`);
};

const tokenIn = (environment: Environment): string => {
  const path = setting(
    environment,
    'OPERATOR_TOKEN_FILE',
    join(setting(environment, 'DATA_DIR', './data'), 'operator.token'),
  );
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

const messageOf = (text: string, status: number): string => {
  try {
    const { error } = JSON.parse(text) as {
      readonly error?: { readonly code?: string; readonly message?: string };
    };
    return error?.code === undefined
      ? `The service responded with ${status}.`
      : `${error.code}: ${error.message ?? ''}`;
  } catch {
    return `The service responded with ${status}.`;
  }
};

/** Whether a mark ends a stream. */
const isEnd = (mark: string): boolean => (JSON.parse(mark) as { readonly done?: boolean }).done === true;

const connectionLost = (address: string): string =>
  `The connection to the service at ${address} was lost. Is it still running?`;

interface Target {
  readonly address: string;
  /** The prefix of each call's path. */
  readonly root: string;
  /** The bearer token. Throws if there is none. */
  readonly token: () => string;
}

const clientOf = ({ address, root, token }: Target): OperatorClient => {
  const send = async (
    { method, path, query = {}, body }: OperatorCall,
    signal?: AbortSignal,
    accept?: string,
  ): Promise<Response> => {
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
    const text = await response.text();
    throw new ServiceRefused(messageOf(text, response.status), text, response.status);
  };

  return {
    call: async (call) => (await send(call)).text(),
    async *pieces(call) {
      const { body } = await send(call);
      try {
        for await (const piece of body ?? []) yield piece;
      } catch (error) {
        throw new Unreachable(connectionLost(address), { cause: error });
      }
    },
    async *stream(call, signal, onOpen) {
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
            if (lines.includes('event: position')) isDone = isEnd(text);
            else if (text !== '') yield text;
          }
        }
      } catch (error) {
        if (signal.aborted) return;
        throw error instanceof ServiceRefused || error instanceof Unreachable
          ? error
          : new Unreachable(connectionLost(address), { cause: error });
      }
      if (!signal.aborted && !isDone) throw new Unreachable(connectionLost(address));
    },
  };
};

/**
 * A client of the operator API. It finds the service by the service's own settings: the operator's listener
 * if it has one of its own, `BASE_URL`, or else `http://HOST:PORT`, with the token in `OPERATOR_TOKEN_FILE`.
 */
export const operatorClient = (environment: Environment): OperatorClient =>
  clientOf({
    address: addressIn(environment),
    root: '/operator/v1',
    token: () => tokenIn(environment),
  });

/** The API key that was given, else the one in `API_KEY`; null if there is none. */
export const apiKeyIn = (environment: Environment, given = environment['API_KEY']): string | null =>
  given?.trim() || null;

/** A client with an API key. Paths begin below `/api/v1`. */
export const keyClient = (environment: Environment, key: string): OperatorClient =>
  clientOf({ address: publicAddressIn(environment), root: '/api/v1', token: () => key });

/** Reads a path of the public API that needs no key. Throws ServiceRefused and Unreachable. */
export const readPublic = async (environment: Environment, path: string): Promise<Buffer> => {
  const address = publicAddressIn(environment);
  const response = await fetch(urlOf(address, path)).catch((error: unknown) => {
    throw new Unreachable(`The service can't be reached at ${address}.`, { cause: error });
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (response.ok) return bytes;
  throw new ServiceRefused(messageOf(bytes.toString(), response.status), bytes.toString(), response.status);
};
