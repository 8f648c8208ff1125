import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from './ports.js';

/**
 * A TCP proxy in front of an engine, for faults over the wire.
 * `up`: everything passes. `down`: nobody can connect, and those who were connected are cut off. `stalled`:
 * connections stay, and nothing passes either way.
 * `deaf`: what clients send arrives, and no response comes back.
 */
export type ProxyState = 'up' | 'down' | 'stalled' | 'deaf';

interface Trap {
  readonly bytes: string;
  readonly arrives: boolean;
  readonly spring: () => void;
}

export class Proxy {
  readonly #host: string;
  readonly #port: number;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #server: Server | null = null;
  /** How much later each response arrives. */
  delay = 0;
  #state: ProxyState = 'down';
  #trap: Trap | null = null;
  private constructor(
    target: URL,
    fallbackPort: number,
    readonly port: number,
  ) {
    this.#host = target.hostname;
    this.#port = Number(target.port) || fallbackPort;
  }

  /** In front of the server that a URL names; its port is taken at once, even if the state is `down`. */
  static async before(url: string, fallbackPort: number, state: ProxyState = 'up'): Promise<Proxy> {
    const proxy = new Proxy(new URL(url), fallbackPort, await freePort());
    await proxy.#listen();
    await proxy.set(state);
    return proxy;
  }

  /** The same URL, with the proxy in the place of the server. */
  urlFor(url: string): string {
    const parsed = new URL(url);
    return url.replace(parsed.host, `127.0.0.1:${this.port}`);
  }

  async set(state: ProxyState): Promise<void> {
    this.#state = state;
    if (state === 'down') {
      this.cut();
      const server = this.#server;
      this.#server = null;
      if (server !== null) await new Promise<void>((resolve) => server.close(() => resolve()));
    } else if (this.#server === null) await this.#listen();
    for (const [client, engine] of this.#pairs) this.#flow(client, engine);
  }

  /**
   * Waits for a client to send these bytes, then goes into the state at once. `arrives`: they reach the
   * engine first, so that its response is the first thing that is lost; otherwise they are. One trap at a
   * time.
   */
  trap(bytes: string, state: ProxyState, { arrives }: { readonly arrives: boolean }): Promise<void> {
    return new Promise((resolve) => {
      this.#trap = { bytes, arrives, spring: () => void this.set(state).then(resolve) };
    });
  }

  /** Resets every connection; new ones are welcome. */
  cut(): void {
    for (const [client, engine] of this.#pairs) {
      client.resetAndDestroy();
      engine.destroy();
    }
    this.#pairs.clear();
  }

  async close(): Promise<void> {
    await this.set('down');
  }

  #pass(chunk: Buffer, engine: Socket): void {
    const trap = this.#trap;
    const isCaught = trap !== null && chunk.includes(trap.bytes);
    if (!isCaught || trap.arrives) engine.write(chunk);
    if (!isCaught) return;
    this.#trap = null;
    trap.spring();
  }

  #flow(client: Socket, engine: Socket): void {
    if (this.#state === 'stalled') client.pause();
    else client.resume();
    if (this.#state === 'up') engine.resume();
    else engine.pause();
  }

  async #listen(): Promise<void> {
    const server = createServer((client) => {
      const engine = connect(this.#port, this.#host);
      const pair = [client, engine] as const;
      this.#pairs.add(pair);
      const end = (): void => {
        this.#pairs.delete(pair);
        client.destroy();
        engine.destroy();
      };
      for (const socket of pair) socket.on('error', end).on('close', end);
      client.on('data', (chunk: Buffer) => this.#pass(chunk, engine));
      const answer = (chunk: Buffer): void => void client.write(chunk);
      engine.on('data', (chunk: Buffer) =>
        this.delay > 0 ? void setTimeout(answer, this.delay, chunk) : answer(chunk),
      );
      this.#flow(client, engine);
    });
    await new Promise<void>((resolve, reject) =>
      server.once('error', reject).listen(this.port, '127.0.0.1', resolve),
    );
    this.#server = server;
  }
}
