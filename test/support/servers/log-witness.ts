import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { verifyConsistency } from '../../../domain/merkle.js';
import {
  formatNote,
  fromBase64,
  openNote,
  parseCheckpointText,
  signerFrom,
  vkeyOf,
  type NoteKey,
  type NoteSigner,
  type TreeHead,
} from '../../../domain/signed-note.js';
import { cosignature } from '../fixtures/cosignature.js';

type Answer = readonly [status: number, body: string];

/**
 * A witness of one log (c2sp.org/tlog-witness), for tests. `head` is what it has signed last, and outlives
 * its server.
 */
export class LogWitness {
  readonly signer: NoteSigner = signerFrom('witness.example.com/w1', 'cosignature', Buffer.alloc(32, 3));
  readonly vkey = vkeyOf(this.signer);
  head: TreeHead | null = null;
  #server: ReturnType<typeof createServer> | null = null;

  constructor(
    private readonly log: NoteKey,
    /** Seconds since 1970. */
    private readonly time = 1_772_000_000,
  ) {}

  /** Returns its URL. */
  async start(): Promise<string> {
    const server = createServer((request, response) => {
      const respond = ([status, answer]: Answer): void => {
        response.writeHead(status, { 'content-type': status === 409 ? 'text/x.tlog.size' : 'text/plain' });
        response.end(answer);
      };
      text(request)
        .then((body) => respond(this.answer(body)))
        .catch((error: unknown) => respond([403, `${String(error)}\n`]));
    });
    this.#server = server;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }

  /** Signs what has grown from what it has signed last. Throws if the log has not signed it. */
  private answer(body: string): Answer {
    const [, old = '', lines = '', note = ''] = /^old (\d+)\n((?:[^\n]+\n)*)\n([^]*)$/.exec(body) ?? [];
    const opened = openNote(note, [this.log]);
    const head = parseCheckpointText(opened.text);
    const known = this.head;
    const size = known?.size ?? 0;
    if (Number(old) !== size) return [409, `${size}\n`];
    if (known?.size === head.size && !known.root.equals(head.root)) return [409, `${size}\n`];
    const proof = lines
      .split('\n')
      .flatMap((line) => fromBase64(line) ?? [])
      .slice(0, -1);
    const isPrefix =
      known === null || size === 0 ? proof.length === 0 : verifyConsistency(known, head, proof);
    if (!isPrefix) return [422, 'The older tree is no prefix of this one.\n'];
    this.head = head;
    const signature = cosignature(this.signer, opened.text, this.time);
    return [200, formatNote({ text: '', signatures: [signature] }).slice(1)];
  }
}
