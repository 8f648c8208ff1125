import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { BSON, type Document } from 'mongodb';

/** What happens to a command instead of its execution. */
export type Refusal =
  /** The whole command is refused. */
  | { readonly refuses: { readonly code: number; readonly codeName: string } }
  /** The command succeeds, and each of its documents is refused. */
  | { readonly refusesEach: { readonly code: number } }
  /** The command is executed, and isn't certain to last. */
  | { readonly executesWith: { readonly writeConcernError: { readonly code: number } } }
  /** The command is executed, and refused nevertheless. */
  | { readonly executesAndRefuses: { readonly code: number; readonly codeName: string } }
  /** The command is executed later. */
  | { readonly executesAfter: Promise<void> }
  /** The connection breaks. */
  | { readonly cuts: 'before' | 'after' };

export interface Rule {
  /** The commands' names: `insert`, `update`, `findAndModify`, `find`, … */
  readonly commands: readonly string[];
  /** All, if it is not given. */
  readonly collection?: string;
  /** Only those that may insert a document. */
  readonly upserts?: boolean;
  /** How many commands it catches. */
  readonly times: number;
  readonly refusal: Refusal;
}

interface Message {
  readonly id: number;
  readonly flags: number;
  readonly body: Document;
  /** The names and documents of its sequences. */
  readonly sequences: readonly (readonly [string, readonly Document[]])[];
}

const opMsg = 2013;
const headerLength = 16;
const opReply = 1;
const replyHeaderLength = 36;
/** Every value keeps its type. */
const exactly = { promoteValues: false } as const;

const readMessage = (bytes: Buffer): Message | null => {
  if (bytes.readInt32LE(12) !== opMsg) return null;
  const sequences: (readonly [string, Document[]])[] = [];
  let body: Document = {};
  for (let at = headerLength + 4; at < bytes.length;) {
    const kind = bytes.readUInt8(at);
    const length = bytes.readInt32LE(at + 1);
    const section = bytes.subarray(at + 1, at + 1 + length);
    if (kind === 0) body = BSON.deserialize(section, exactly);
    else {
      const nameEnd = section.indexOf(0, 4);
      const documents: Document[] = [];
      for (let next = nameEnd + 1; next < section.length; next += section.readInt32LE(next))
        documents.push(BSON.deserialize(section.subarray(next, next + section.readInt32LE(next)), exactly));
      sequences.push([section.toString('utf8', 4, nameEnd), documents]);
    }
    at += 1 + length;
  }
  return { id: bytes.readInt32LE(4), flags: bytes.readUInt32LE(headerLength), body, sequences };
};

const writeMessage = (id: number, responseTo: number, body: Document): Buffer => {
  const document = BSON.serialize(body);
  const bytes = Buffer.alloc(headerLength + 5 + document.length);
  bytes.writeInt32LE(bytes.length, 0);
  bytes.writeInt32LE(id, 4);
  bytes.writeInt32LE(responseTo, 8);
  bytes.writeInt32LE(opMsg, 12);
  bytes.set(document, headerLength + 5);
  return bytes;
};

/** Cuts a stream of bytes into messages. */
const eachMessage = (take: (message: Buffer) => void): ((chunk: Buffer) => void) => {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= rest.readInt32LE(0)) {
      const length = rest.readInt32LE(0);
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      take(message);
    }
  };
};

const batchOf = ({ body, sequences }: Message): readonly Document[] =>
  sequences.flatMap(([, documents]) => [...documents]).concat(body['documents'] ?? body['updates'] ?? []);

/**
 * A server for MongoDB's protocol that stands before a real one, and refuses by command. `repeats`: it says
 * that clients may repeat their writes, but does not recognize a repeated one, as some engines don't.
 */
export class RefusingMongo {
  readonly #target: URL;
  readonly #repeats: boolean;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #rules: { rule: Rule; left: number }[] = [];
  /** Hears of every command, and of the documents that follow it. */
  heard: (body: Document, batch: readonly Document[]) => void = () => undefined;
  /** The commands that were caught, in order. */
  readonly caught: string[] = [];

  private constructor(target: URL, repeats: boolean) {
    this.#target = target;
    this.#repeats = repeats;
    this.#server = createServer((client) => this.#serve(client));
  }

  static async before(url: string, { repeats = false } = {}): Promise<RefusingMongo> {
    const made = new RefusingMongo(new URL(url), repeats);
    await new Promise<void>((resolve) => made.#server.listen(0, '127.0.0.1', resolve));
    return made;
  }

  /** The same URL, with this server in the place of the real one. */
  urlFor(url: string): string {
    const { port } = this.#server.address() as AddressInfo;
    return url.replace(new URL(url).host, `127.0.0.1:${port}`);
  }

  /** Replaces the rules. The first one that fits a command applies. */
  refuse(...rules: readonly Rule[]): void {
    this.#rules = rules.map((rule) => ({ rule, left: rule.times }));
    this.caught.length = 0;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #caughtBy({ body }: Message): Refusal | null {
    const [command = ''] = Object.keys(body);
    const found = this.#rules.find(
      ({ rule, left }) =>
        left > 0 &&
        rule.commands.includes(command) &&
        (rule.upserts !== true || body['upsert'] === true) &&
        (rule.collection === undefined || rule.collection === String(body[command])),
    );
    if (found === undefined) return null;
    found.left -= 1;
    this.caught.push(`${command} ${String(body[command])}`);
    return found.rule.refusal;
  }

  #serve(client: Socket): void {
    const server = connect(Number(this.#target.port) || 27_017, this.#target.hostname);
    /** What becomes of the response to a request, by the request's number. */
    const responses = new Map<number, (response: Message) => void>();
    const end = (): void => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', end).on('close', () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    const cut = (): void => {
      client.resetAndDestroy();
      server.destroy();
    };
    const answer = (request: Message, body: Document): void =>
      void client.write(writeMessage(0, request.id, body));
    const onRequest = (bytes: Buffer): void => {
      const request = readMessage(bytes);
      if (request !== null)
        this.heard(
          request.body,
          request.sequences.flatMap(([, documents]) => [...documents]),
        );
      const refusal = request && this.#caughtBy(request);
      if (request === null) return void server.write(bytes);
      if (refusal !== null) {
        if ('refuses' in refusal)
          return answer(request, { ok: 0, errmsg: 'refused by the test', ...refusal.refuses });
        if ('refusesEach' in refusal)
          return answer(request, {
            ok: 1,
            n: 0,
            nModified: 0,
            writeErrors: batchOf(request).map((_, index) => ({
              index,
              code: refusal.refusesEach.code,
              errmsg: 'refused by the test',
            })),
          });
        if ('executesAfter' in refusal) return void refusal.executesAfter.then(() => server.write(bytes));
        if ('executesWith' in refusal)
          responses.set(request.id, (response) =>
            answer(request, {
              ...response.body,
              writeConcernError: { errmsg: 'not certain to last', ...refusal.executesWith.writeConcernError },
            }),
          );
        else if ('executesAndRefuses' in refusal)
          responses.set(request.id, () =>
            answer(request, { ok: 0, errmsg: 'refused by the test', ...refusal.executesAndRefuses }),
          );
        else if (refusal.cuts === 'before') return cut();
        else responses.set(request.id, cut);
      }
      server.write(this.#repeats ? withoutSession(request) : bytes);
    };
    const onResponse = (bytes: Buffer): void => {
      const handle = responses.get(bytes.readInt32LE(8));
      const response = handle && readMessage(bytes);
      if (handle === undefined || !response)
        return void client.write(this.#repeats ? sayingThatWritesRepeat(bytes) : bytes);
      responses.delete(bytes.readInt32LE(8));
      handle(response);
    };
    client.on('data', eachMessage(onRequest));
    server.on('data', eachMessage(onResponse));
  }
}

/** The same request for a server that knows no sessions, with its sequences inside its body. */
const withoutSession = ({ id, body, sequences }: Message): Buffer => {
  const kept = Object.entries(body).filter(([name]) => !['lsid', 'txnNumber', '$clusterTime'].includes(name));
  return writeMessage(id, 0, Object.fromEntries([...kept, ...sequences]));
};

/** The same response. If it tells what the server can do, it tells that clients may repeat their writes. */
const sayingThatWritesRepeat = (bytes: Buffer): Buffer => {
  const responseTo = bytes.readInt32LE(8);
  const more = { msg: 'isdbgrid', logicalSessionTimeoutMinutes: 30 };
  const message = readMessage(bytes);
  if (message !== null)
    return 'maxWireVersion' in message.body
      ? writeMessage(0, responseTo, { ...message.body, ...more })
      : bytes;
  if (bytes.readInt32LE(12) !== opReply) return bytes;
  const body = BSON.deserialize(bytes.subarray(replyHeaderLength), exactly);
  const document = BSON.serialize({ ...body, ...more });
  const header = Buffer.from(bytes.subarray(0, replyHeaderLength));
  header.writeInt32LE(replyHeaderLength + document.length, 0);
  return Buffer.concat([header, document]);
};
