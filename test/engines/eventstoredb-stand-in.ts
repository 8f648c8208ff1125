import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { AppendReq, AppendResp, ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerReadableStream,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import type { Clock } from '../../application/ports/system.js';

/**
 * How one append goes wrong.
 * `lost`: stored or not, and the call fails with `code` (by default UNAVAILABLE).
 * `silent`: stored or not, and no response ever comes.
 * `late`: the call fails at once, and the events are stored when `until` resolves.
 * `delayed`: stored at once, with a response when `until` resolves.
 * `refused`: not stored; `exception` is the server's name for the reason, if it has one.
 * `unplaced`: stored, and the response names no position, as older servers do on a repeat.
 * `conflicting`: not stored, and the response says that the stream is at another revision, even if it isn't.
 */
export type AppendFate =
  | { readonly kind: 'lost'; readonly stored: boolean; readonly code?: status }
  | { readonly kind: 'silent'; readonly stored: boolean }
  | { readonly kind: 'late'; readonly until: Promise<unknown> }
  | { readonly kind: 'delayed'; readonly until: Promise<unknown> }
  | {
      readonly kind: 'refused';
      readonly exception?: string;
      readonly code: status;
      readonly details?: string;
    }
  | { readonly kind: 'unplaced' }
  | { readonly kind: 'conflicting' };

/**
 * How one read or subscription goes wrong: after some events it fails or falls silent, or events come twice.
 */
export type ReadFate =
  | { readonly kind: 'cut'; readonly after: number; readonly code?: status }
  | { readonly kind: 'silent'; readonly after: number }
  | { readonly kind: 'twice' };

/** PEM. */
export interface Tls {
  readonly key: Buffer;
  readonly certificate: Buffer;
}

interface StoredRecord {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  readonly commit: bigint;
  readonly created: bigint;
}

type ReadCall = ServerWritableStream<ReadReq, ReadResp>;
type Accepted = { readonly last: StoredRecord } | { readonly current: number };

const { ReadEvent } = streams.ReadResp;
const { Position } = streams.AppendResp;
const ticksPerMillisecond = 10_000n;
const recordOverhead = 137n;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const isOver = (call: ReadCall): boolean => call.cancelled || call.writableEnded || call.destroyed;

const streamIdentifier = (name: string) => new shared.StreamIdentifier().setStreamName(Buffer.from(name));
const nameOf = (identifier: ReturnType<typeof streamIdentifier> | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString();

/** The error of a gRPC call. The client reads the kind of a refusal from the trailer `exception`. */
const callError = (code: status, exception?: string, details = exception ?? 'told to fail') => {
  const metadata = new Metadata();
  if (exception !== undefined) metadata.set('exception', exception);
  return Object.assign(new Error(exception ?? status[code]), {
    code,
    details,
    metadata,
  });
};

const streamDeleted = (stream: string) => {
  const error = callError(status.FAILED_PRECONDITION, 'stream-deleted');
  error.metadata.set('stream-name', stream);
  return error;
};

const expectedRevision = (options: AppendReq.Options): number | 'any' | 'exists' => {
  if (options.hasRevision()) return Number(options.getRevision());
  if (options.hasNoStream()) return -1;
  return options.hasStreamExists() ? 'exists' : 'any';
};

const toReadEvent = (record: StoredRecord, placed: boolean): ReadResp.ReadEvent => {
  const position = placed ? record.commit.toString() : '18446744073709551615';
  const event = new ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(record.id))
    .setStreamIdentifier(streamIdentifier(record.stream))
    .setStreamRevision(String(record.revision))
    .setCommitPosition(position)
    .setPreparePosition(position)
    .setData(record.data)
    .setCustomMetadata(record.metadata);
  event
    .getMetadataMap()
    .set('type', record.type)
    .set('content-type', record.contentType)
    .set('created', record.created.toString());
  const response = new ReadEvent().setEvent(event);
  return placed
    ? response.setCommitPosition(record.commit.toString())
    : response.setNoPosition(new shared.Empty());
};

const appended = (last: StoredRecord, placed: boolean): AppendResp => {
  const success = new streams.AppendResp.Success().setCurrentRevision(String(last.revision));
  if (placed)
    success.setPosition(
      new Position().setCommitPosition(last.commit.toString()).setPreparePosition(last.commit.toString()),
    );
  else success.setNoPosition(new shared.Empty());
  return new streams.AppendResp().setSuccess(success);
};

const wrongRevision = (expected: number | 'any' | 'exists', current: number): AppendResp => {
  const response = new streams.AppendResp.WrongExpectedVersion();
  if (current >= 0) response.setCurrentRevision(String(current));
  else response.setCurrentNoStream(new shared.Empty());
  if (typeof expected === 'number' && expected >= 0) response.setExpectedRevision(String(expected));
  else if (expected === -1) response.setExpectedNoStream(new shared.Empty());
  else response.setExpectedStreamExists(new shared.Empty());
  return new streams.AppendResp().setWrongExpectedVersion(response);
};

/**
 * Stands in for an EventStoreDB in tests, and in development without Docker. It keeps its streams in memory,
 * speaks the parts of the wire protocol that this service uses, and can be told to misbehave. It proves
 * nothing about a real server's durability or speed.
 */
export class EventStoreDbStandIn {
  /** How the next appends go wrong, in order. An append without a fate is stored and gets its response. */
  readonly appendFates: AppendFate[] = [];
  /** How the next reads and subscriptions go wrong, in order. */
  readonly readFates: ReadFate[] = [];
  readonly subscriptionFates: ReadFate[] = [];
  /** How often each call came: `append`, `batchAppend`, `read`, `subscribe`, `features`, `gossip`. */
  readonly calls = new Map<string, number>();
  /**
   * Whether an event that is read from its stream has its position, as with the server that
   * docker-compose.yml names. Servers before 22.6 don't tell it.
   */
  placesStreamReads = true;
  /** How reads of `$all` and subscriptions are denied; null if they aren't. */
  denies: status.PERMISSION_DENIED | status.UNAUTHENTICATED | null = null;
  readonly #log: StoredRecord[] = [];
  readonly #tombstoned = new Set<string>();
  readonly #streams = new Map<string, StoredRecord[]>();
  readonly #subscriptions = new Set<ReadCall>();
  readonly #reads = new Set<ReadCall>();
  #sent = 0;
  readonly #clock: Clock;
  readonly #tls: Tls | null;
  #authorization: string | null = null;
  #server: Server | null = null;
  #port = 0;
  #end = 0n;
  #changed: { readonly promise: Promise<void>; readonly ring: () => void } = this.#bell();

  private constructor(clock: Clock, tls: Tls | null) {
    this.#clock = clock;
    this.#tls = tls;
    this.noise(1);
  }

  /** Starts one on the given port, by default a free one. */
  static async start(clock: Clock, port = 0, tls: Tls | null = null): Promise<EventStoreDbStandIn> {
    const standIn = new EventStoreDbStandIn(clock, tls);
    standIn.#port = port;
    await standIn.up();
    return standIn;
  }

  get port(): number {
    return this.#port;
  }

  /** With TLS, add the user and the authority's file. */
  get url(): string {
    return `esdb://127.0.0.1:${this.#port}${this.#tls === null ? '?tls=false' : ''}`;
  }

  /** The `authorization` of the last append. */
  get authorization(): string | null {
    return this.#authorization;
  }

  /** How many subscriptions are open now. */
  get subscriptions(): number {
    return this.#subscriptions.size;
  }

  /** How many reads are open now. */
  get openReads(): number {
    return this.#reads.size;
  }

  /** How many events were written to readers and subscribers. */
  get sent(): number {
    return this.#sent;
  }

  /** Listens. After `down` it is the same port, and everything that was stored is there. */
  async up(): Promise<void> {
    if (this.#server !== null) return;
    const server = new Server({ 'grpc.max_receive_message_length': -1 });
    server.addService(streamsService.StreamsService, {
      append: (call: ServerReadableStream<AppendReq, AppendResp>, answer: sendUnaryData<AppendResp>) =>
        void this.#append(call, answer),
      // Takes everything and never responds: clients must not use this call. (docs/engines.md#eventstoredb)
      batchAppend: (call: ServerReadableStream<unknown, unknown>) => {
        this.#count('batchAppend');
        call.on('data', () => undefined).on('error', () => undefined);
      },
      read: (call: ReadCall) => void this.#read(call),
    });
    server.addService(featuresService.ServerFeaturesService, {
      getSupportedMethods: (
        _call: unknown,
        answer: sendUnaryData<InstanceType<typeof features.SupportedMethods>>,
      ) => {
        this.#count('features');
        const service = 'event_store.client.streams.streams';
        const methods = ['append', 'batchappend', 'read'].map((name) =>
          new features.SupportedMethod().setServiceName(service).setMethodName(name),
        );
        answer(
          null,
          new features.SupportedMethods().setMethodsList(methods).setEventStoreServerVersion('24.10.0'),
        );
      },
    });
    server.addService(gossipService.GossipService, {
      read: (_call: unknown, answer: sendUnaryData<InstanceType<typeof gossip.ClusterInfo>>) => {
        this.#count('gossip');
        const self = new gossip.MemberInfo()
          .setInstanceId(new shared.UUID().setString('00000000-0000-4000-8000-000000000001'))
          .setTimeStamp('0')
          .setState(gossip.MemberInfo.VNodeState.LEADER)
          .setIsAlive(true)
          .setHttpEndPoint(new gossip.EndPoint().setAddress('127.0.0.1').setPort(this.#port));
        answer(null, new gossip.ClusterInfo().setMembersList([self]));
      },
    });
    this.#server = server;
    const pair = this.#tls && { private_key: this.#tls.key, cert_chain: this.#tls.certificate };
    const credentials =
      pair === null ? ServerCredentials.createInsecure() : ServerCredentials.createSsl(null, [pair]);
    this.#port = await new Promise<number>((resolve, reject) =>
      server.bindAsync(`127.0.0.1:${this.#port}`, credentials, (error, port) =>
        error === null ? resolve(port) : reject(error),
      ),
    );
  }

  /** Forgets everything but its first `keep` records, as if it were restored from a backup. */
  rewind(keep: number): void {
    this.#log.length = keep;
    for (const [name, records] of this.#streams) {
      const left = records.filter((record) => this.#log.includes(record));
      if (left.length === 0) this.#streams.delete(name);
      else this.#streams.set(name, left);
    }
    this.#end = (this.#log.at(-1)?.commit ?? 0n) + recordOverhead;
    this.noise(1);
  }

  /** Replaces a text in the data of every record: what somebody with the server's files could do. */
  rewrite(text: string, by: string): void {
    for (const record of this.#log) {
      const data = Buffer.from(record.data).toString().replaceAll(text, by);
      Object.assign(record, { data: Buffer.from(data) });
    }
  }

  /** Goes away at once: connections break, and the port refuses new ones. What was stored stays. */
  down(): void {
    this.#server?.forceShutdown();
    this.#server = null;
    this.#subscriptions.clear();
    this.#reads.clear();
  }

  /**
   * Ends every subscription with an error, as a server does if a consumer is too slow, or if it shuts down.
   */
  dropSubscriptions(code = status.ABORTED): void {
    for (const call of this.#subscriptions) call.emit('error', callError(code));
    this.#subscriptions.clear();
  }

  /** Stores the server's own events, as real servers do all the time. */
  noise(count: number): void {
    for (let i = 0; i < count; i += 1)
      this.#store('$stats-127.0.0.1:2113', {
        id: `00000000-0000-4000-9000-${String(this.#log.length).padStart(12, '0')}`,
        type: '$statsCollected',
      });
    this.#ring();
  }

  /** How many records it holds, its own ones included. */
  get records(): number {
    return this.#log.length;
  }

  /** The names of all streams, in the order in which they began. */
  streamNames(): readonly string[] {
    return [...this.#streams.keys()];
  }

  /** Stores an event that another program wrote. */
  foreign(stream: string): void {
    this.#store(stream, { id: '00000000-0000-4000-a000-000000000001', type: 'Foreign' });
    this.#ring();
  }

  /** Deletes a stream for good: its events are gone from it, and it takes no others. */
  tombstone(stream: string): void {
    this.#streams.delete(stream);
    this.#tombstoned.add(stream);
  }

  #denial() {
    const exception = this.denies === status.PERMISSION_DENIED ? 'access-denied' : undefined;
    return this.denies === null ? null : callError(this.denies, exception, 'Access Denied');
  }

  /** Stores an event without a call, and returns its position: for measurements with many streams. */
  place(
    stream: string,
    event: {
      readonly id: string;
      readonly type: string;
      readonly data: Uint8Array;
      readonly metadata: Uint8Array;
    },
  ): bigint {
    return this.#store(stream, event).commit;
  }

  #count(call: string): void {
    this.calls.set(call, (this.calls.get(call) ?? 0) + 1);
  }

  #bell() {
    let ring = (): void => undefined;
    const promise = new Promise<void>((resolve) => (ring = resolve));
    return { promise, ring };
  }

  #ring(): void {
    const { ring } = this.#changed;
    this.#changed = this.#bell();
    ring();
  }

  #store(
    stream: string,
    event: { id: string; type: string; contentType?: string; data?: Uint8Array; metadata?: Uint8Array },
  ): StoredRecord {
    const stored = this.#streams.get(stream) ?? [];
    this.#streams.set(stream, stored);
    const {
      data = Buffer.from('{}'),
      metadata = Buffer.from('{}'),
      contentType = 'application/json',
      id,
      type,
    } = event;
    const created = BigInt(this.#clock.now()) * ticksPerMillisecond;
    const record = {
      id,
      stream,
      revision: stored.length,
      type,
      contentType,
      data,
      metadata,
      commit: this.#end,
      created,
    };
    stored.push(record);
    this.#log.push(record);
    this.#end += recordOverhead + BigInt(data.length + metadata.length);
    return record;
  }

  /**
   * The server's rule: at the expected revision it stores. If the stream has grown since, the same ids at the
   * same revisions count as stored; anything else is a conflict.
   */
  #accept(
    stream: string,
    expected: number | 'any' | 'exists',
    proposed: readonly AppendReq.ProposedMessage[],
  ): Accepted {
    const present = this.#streams.get(stream) ?? [];
    const current = present.length - 1;
    if (typeof expected === 'number' && expected !== current) {
      const stored = present.slice(expected + 1, expected + 1 + proposed.length);
      const last = stored.at(-1);
      const isSame =
        stored.length === proposed.length &&
        proposed.every((event, index) => event.getId()?.getString() === stored[index]?.id);
      return isSame && last !== undefined ? { last } : { current };
    }
    if (expected === 'exists' && current < 0) return { current };
    const records = proposed.map((event) =>
      this.#store(stream, {
        id: event.getId()?.getString() ?? '',
        type: event.getMetadataMap().get('type') ?? '',
        contentType: event.getMetadataMap().get('content-type') ?? '',
        data: event.getData_asU8(),
        metadata: event.getCustomMetadata_asU8(),
      }),
    );
    this.#ring();
    const last = records.at(-1);
    return last === undefined ? { current } : { last };
  }

  async #append(
    call: ServerReadableStream<AppendReq, AppendResp>,
    answer: sendUnaryData<AppendResp>,
  ): Promise<void> {
    this.#count('append');
    this.#authorization = call.metadata.get('authorization').map(String)[0] ?? null;
    let options = new streams.AppendReq.Options();
    const proposed: AppendReq.ProposedMessage[] = [];
    try {
      for await (const part of call as AsyncIterable<AppendReq>) {
        options = part.getOptions() ?? options;
        const message = part.getProposedMessage();
        if (message !== undefined) proposed.push(message);
      }
    } catch {
      return; // The caller went away in the middle of the call.
    }
    // A call that was cancelled half-way seems to end normally; a turn later it is known to be cancelled.
    await nextTurn();
    if (call.cancelled) return;
    const expected = expectedRevision(options);
    const accept = () => this.#accept(nameOf(options.getStreamIdentifier()), expected, proposed);
    const answerWith = (outcome: Accepted, placed = true) =>
      answer(
        null,
        'last' in outcome ? appended(outcome.last, placed) : wrongRevision(expected, outcome.current),
      );
    const fate = this.appendFates.shift();
    if (this.#tombstoned.has(nameOf(options.getStreamIdentifier())))
      return answer(streamDeleted(nameOf(options.getStreamIdentifier())));
    switch (fate?.kind) {
      case undefined:
        return answerWith(accept());
      case 'unplaced':
        return answerWith(accept(), false);
      case 'conflicting':
        return answer(
          null,
          wrongRevision(
            expected,
            (this.#streams.get(nameOf(options.getStreamIdentifier()))?.length ?? 0) - 1,
          ),
        );
      case 'refused':
        return answer(callError(fate.code, fate.exception, fate.details));
      case 'lost':
        if (fate.stored) accept();
        return answer(callError(fate.code ?? status.UNAVAILABLE));
      case 'silent':
        if (fate.stored) accept();
        return;
      case 'late':
        answer(callError(status.UNAVAILABLE));
        await fate.until;
        return void accept();
      case 'delayed': {
        const outcome = accept();
        await fate.until;
        return answerWith(outcome);
      }
    }
  }

  #wanted(options: ReadReq.Options): (record: StoredRecord) => boolean {
    const filter = options.getFilter()?.getStreamIdentifier();
    const prefixes = filter?.getPrefixList() ?? [];
    return filter === undefined
      ? () => true
      : ({ stream }) => prefixes.some((prefix) => stream.startsWith(prefix));
  }

  async #read(call: ReadCall): Promise<void> {
    const forget = () => {
      this.#reads.delete(call);
      this.#subscriptions.delete(call);
    };
    call.on('error', () => undefined);
    for (const end of ['cancelled', 'close', 'finish']) call.once(end, forget);
    const options = call.request.getOptions() ?? new streams.ReadReq.Options();
    if (options.hasSubscription()) await this.#subscribe(call, options);
    else await this.#readOnce(call, options);
  }

  async #readOnce(call: ReadCall, options: ReadReq.Options): Promise<void> {
    this.#count('read');
    this.#reads.add(call);
    const from = options.getStream();
    const name = nameOf(from?.getStreamIdentifier());
    const refused =
      from === undefined ? this.#denial() : this.#tombstoned.has(name) ? streamDeleted(name) : null;
    if (refused !== null) return void call.emit('error', refused);
    const present = from === undefined ? this.#log : this.#streams.get(name);
    if (present === undefined) {
      call.write(
        new streams.ReadResp().setStreamNotFound(
          new streams.ReadResp.StreamNotFound().setStreamIdentifier(streamIdentifier(name)),
        ),
      );
      return void call.end();
    }
    const backwards = options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS;
    const place =
      from?.hasRevision() === true
        ? BigInt(from.getRevision())
        : options.getAll()?.hasPosition() === true
          ? BigInt(options.getAll()?.getPosition()?.getCommitPosition() ?? 0)
          : null;
    if (from === undefined && place !== null && this.#isInsideRecord(place))
      return void call.emit(
        'error',
        callError(status.UNKNOWN, undefined, 'Unexpected ReadAllResult: InvalidPosition'),
      );
    const at = (record: StoredRecord) => (from === undefined ? record.commit : BigInt(record.revision));
    const inRange =
      place === null
        ? present
        : present.filter((record) =>
            backwards ? (from === undefined ? at(record) < place : at(record) <= place) : at(record) >= place,
          );
    const count = Math.min(Number(options.getCount()), inRange.length);
    const ordered = backwards ? inRange.slice(inRange.length - count).reverse() : inRange.slice(0, count);
    const fate = this.readFates.shift();
    if (
      (await this.#send(call, ordered, from === undefined || this.placesStreamReads, fate)) &&
      fate?.kind !== 'silent'
    )
      call.end();
  }

  /** The server refuses to begin there. Past the end it waits for what may come. */
  #isInsideRecord(position: bigint): boolean {
    const next = this.#log.find(({ commit }) => commit >= position);
    return position > 0n && next !== undefined && next.commit !== position;
  }

  /** Sends events as fast as the reader takes them. Returns false if the call is over. */
  async #send(
    call: ReadCall,
    records: readonly StoredRecord[],
    placed: boolean,
    fate: ReadFate | undefined,
  ): Promise<boolean> {
    const limit = fate === undefined || fate.kind === 'twice' ? Infinity : fate.after;
    let sent = 0;
    for (const record of records) {
      if (sent >= limit) break;
      for (let copies = fate?.kind === 'twice' ? 2 : 1; copies > 0; copies -= 1) {
        if (isOver(call)) return false;
        this.#sent += 1;
        await this.#write(call, new streams.ReadResp().setEvent(toReadEvent(record, placed)));
      }
      sent += 1;
    }
    if (fate?.kind !== 'cut' || sent < fate.after) return true;
    call.emit('error', callError(fate.code ?? status.UNAVAILABLE));
    return false;
  }

  async #write(call: ReadCall, response: ReadResp): Promise<void> {
    if (call.write(response)) return;
    await new Promise<void>((resolve) => {
      const go = () => {
        for (const event of ['drain', 'cancelled', 'close', 'error']) call.off(event, go);
        resolve();
      };
      for (const event of ['drain', 'cancelled', 'close', 'error']) call.once(event, go);
    });
  }

  /**
   * Sends the events after a position, then new ones. Like the server, it also sends checkpoints, which run
   * ahead of what the consumer has taken.
   */
  async #subscribe(call: ReadCall, options: ReadReq.Options): Promise<void> {
    this.#count('subscribe');
    const denial = this.#denial();
    if (denial !== null) return void call.emit('error', denial);
    this.#subscriptions.add(call);
    const fate = this.subscriptionFates.shift();
    const wanted = this.#wanted(options);
    const after = BigInt(options.getAll()?.getPosition()?.getCommitPosition() ?? -1);
    if (this.#isInsideRecord(after)) {
      this.#subscriptions.delete(call);
      return void call.emit(
        'error',
        callError(status.INVALID_ARGUMENT, undefined, 'Trying to read from an invalid position.'),
      );
    }
    let next = this.#log.findIndex((record) => record.commit > after);
    if (next < 0) next = this.#log.length;
    let left = fate;
    call.write(
      new streams.ReadResp().setConfirmation(
        new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId('stand-in'),
      ),
    );
    const ended = new Promise<void>((resolve) => call.once('cancelled', resolve).once('close', resolve));
    while (!isOver(call) && this.#subscriptions.has(call)) {
      const changed = this.#changed.promise;
      if (next < this.#log.length) {
        const found = this.#log.slice(next);
        const head = found.at(-1)?.commit ?? 0n;
        next += found.length;
        const mine = found.filter(wanted);
        await this.#write(
          call,
          new streams.ReadResp().setCheckpoint(
            new streams.ReadResp.Checkpoint()
              .setCommitPosition(head.toString())
              .setPreparePosition(head.toString()),
          ),
        );
        if (!(await this.#send(call, mine, true, left))) return;
        if (left !== undefined && left.kind !== 'twice') left = { ...left, after: left.after - mine.length };
      } else await Promise.race([changed, ended]);
    }
  }
}
