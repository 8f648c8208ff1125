import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import statusMessages from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type {
  AppendReq,
  AppendResp,
  BatchAppendReq,
  BatchAppendResp,
  ReadReq,
  ReadResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';
import {
  everything,
  maxAppend,
  StandInLog,
  type Accepted,
  type Expected,
  type OthersRecords,
  type ProposedRecord,
  type StoredRecord,
  type StreamMetadata,
  type Wanted,
} from './stand-in-log.js';

/**
 * How one append goes wrong, whichever call it comes by. A batch that fails fails with all the appends in it.
 * `lost`: stored or not, and the call fails with `code` (by default UNAVAILABLE). `silent`: stored or not,
 * and no response ever comes. `late`: the call fails at once, and the events are stored when `until`
 * resolves. `delayed`: stored at once, with a response when `until` resolves. `refused`: not stored;
 * `exception` is the server's name for the reason, if it has one. In a batch this is the response to the one
 * append; only `not-leader` ends the batch, as the server does it. `unplaced`: stored, and the response names
 * no position, as older servers do on a repeat. `conflicting`: not stored, and the response says that the
 * stream is at another revision, even if it isn't. `doubled`: stored, and in a batch the response comes
 * twice.
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
  | { readonly kind: 'conflicting' }
  | { readonly kind: 'doubled' };

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

/** A user of the server. */
export interface StandInUser {
  readonly password: string;
  readonly isAdministrator?: boolean;
}

type ReadCall = ServerWritableStream<ReadReq, ReadResp>;
type BatchCall = ServerDuplexStream<BatchAppendReq, BatchAppendResp>;
/** How a response is given: to an append of its own, or to one of a batch. */
interface Reply {
  readonly accepted: (outcome: Accepted, placed: boolean) => void;
  readonly refused: (code: status, exception: string | undefined, details: string | undefined) => void;
  /** Ends the call. */
  readonly failed: (code: status) => void;
}

const { ReadEvent } = streams.ReadResp;
const { Position } = streams.AppendResp;
const noLeader = 'No leader info available in response';

const standInId = '00000000-0000-4000-8000-000000000001';

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

const expectedRevision = (options: AppendReq.Options): Expected => {
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

const expectedOfBatch = (options: BatchAppendReq.Options): Expected => {
  if (options.hasStreamPosition()) return Number(options.getStreamPosition());
  if (options.hasNoStream()) return -1;
  return options.hasStreamExists() ? 'exists' : 'any';
};

const toProposed = (event: AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage): ProposedRecord => ({
  id: event.getId()?.getString() ?? '',
  type: event.getMetadataMap().get('type') ?? '',
  contentType: event.getMetadataMap().get('content-type') ?? '',
  data: event.getData_asU8(),
  metadata: event.getCustomMetadata_asU8(),
});

const appended = (revision: number, position: bigint | null): AppendResp => {
  const success = new streams.AppendResp.Success().setCurrentRevision(String(revision));
  if (position === null) success.setNoPosition(new shared.Empty());
  else
    success.setPosition(
      new Position().setCommitPosition(position.toString()).setPreparePosition(position.toString()),
    );
  return new streams.AppendResp().setSuccess(success);
};

const wrongRevision = (expected: Expected, current: number): AppendResp => {
  const response = new streams.AppendResp.WrongExpectedVersion();
  if (current >= 0) response.setCurrentRevision(String(current));
  else response.setCurrentNoStream(new shared.Empty());
  if (typeof expected === 'number' && expected >= 0) response.setExpectedRevision(String(expected));
  else if (expected === -1) response.setExpectedNoStream(new shared.Empty());
  else response.setExpectedStreamExists(new shared.Empty());
  return new streams.AppendResp().setWrongExpectedVersion(response);
};

/** The status of one append of a batch: its kind is the type of its details. */
const batchStatus = (message: string, type: string, details: Uint8Array = new Uint8Array()) => {
  // The field `details`, present and empty.
  const made = statusMessages.Status.deserializeBinary(Uint8Array.of(0x1a, 0x00)).setMessage(message);
  made.getDetails()?.pack(details, type);
  return new streams.BatchAppendResp().setError(made);
};

const client = (name: string): string => `event_store.client.${name}`;
const empty = 'google.protobuf.Empty';

const batchAccepted = (outcome: Accepted, placed: boolean, expected: Expected): BatchAppendResp => {
  switch (outcome.kind) {
    case 'tombstoned':
      return batchStatus('StreamDeleted', client('StreamDeleted'));
    case 'too large': {
      const details = new shared.MaximumAppendSizeExceeded().setMaxappendsize(maxAppend);
      const type = client('MaximumAppendSizeExceeded');
      return batchStatus('MaximumAppendSizeExceeded', type, details.serializeBinary());
    }
    case 'wrong revision': {
      const details = new shared.WrongExpectedVersion();
      if (outcome.current < 0) details.setCurrentNoStream(new shared.Empty());
      else details.setCurrentStreamRevision(String(outcome.current));
      if (typeof expected === 'number' && expected >= 0) details.setExpectedStreamPosition(String(expected));
      else details.setExpectedNoStream(new shared.Empty());
      const type = client('WrongExpectedVersion');
      return batchStatus('WrongExpectedVersion', type, details.serializeBinary());
    }
    case 'stored': {
      const { revision, position } = outcome;
      const success = new streams.BatchAppendResp.Success().setCurrentRevision(String(revision));
      if (position === null || !placed) success.setNoPosition(new shared.Empty());
      else
        success.setPosition(
          new shared.AllStreamPosition()
            .setCommitPosition(position.toString())
            .setPreparePosition(position.toString()),
        );
      return new streams.BatchAppendResp().setSuccess(success);
    }
  }
};

const batchRefusal = (exception: string | undefined, details: string | undefined): BatchAppendResp => {
  if (exception === 'access-denied') return batchStatus('AccessDenied', client('AccessDenied'));
  if (exception === 'timeout') return batchStatus('Timeout', client('Timeout'));
  return details === undefined ? batchStatus('Unknown', client('Unknown')) : batchStatus(details, empty);
};

const notLeader = (port: number) => {
  const error = callError(status.NOT_FOUND, 'not-leader', 'Leader info available');
  error.metadata.set('leader-endpoint-host', '127.0.0.1');
  error.metadata.set('leader-endpoint-port', String(port));
  return error;
};

const tooLarge = () => {
  const details = `Maximum Append Size of ${maxAppend} Exceeded.`;
  const error = callError(status.INVALID_ARGUMENT, 'maximum-append-size-exceeded', details);
  error.metadata.set('maximum-append-size', String(maxAppend));
  return error;
};

/**
 * Stands in for an EventStoreDB in tests, and in development without Docker. It keeps its streams in memory,
 * speaks the parts of the wire protocol that this service uses, follows the rules that were measured on a
 * real server (docs/engines.md#the-stand-in), and can be told to misbehave. It proves nothing about a real
 * server's durability or speed.
 */
export class EventStoreDbStandIn {
  /** How the next appends go wrong, in order. An append without a fate is stored and gets its response. */
  readonly appendFates: AppendFate[] = [];
  /** How the next reads and subscriptions go wrong, in order. */
  readonly readFates: ReadFate[] = [];
  readonly subscriptionFates: ReadFate[] = [];
  /**
   * How often each call came: `append` and `batch` (calls), `batchAppend` (appends within batches), `read`,
   * `subscribe`, `features`, `gossip`.
   */
  readonly calls = new Map<string, number>();
  /**
   * Whether an event that is read from its stream has its position, as with the server that
   * docker-compose.yml names. Servers before 22.6 don't tell it.
   */
  placesStreamReads = true;
  /** Servers before 21.10 don't. */
  hasBatchAppend = true;
  /** Servers before 21.10 refuse filtered reads of `$all`. */
  hasFilteredReads = true;
  /** How many records a filter passes over in a second. */
  passesOver = 1_500_000;
  /** How long every append takes: the event is stored, and its response sent, when the time is over. */
  appendTime: Milliseconds = 0;
  /** How reads of `$all` and subscriptions are denied; null if they aren't. */
  denies: status.PERMISSION_DENIED | status.UNAUTHENTICATED | null = null;
  /**
   * Its users by name; null for a server that asks nobody who he is. Reading `$all` takes an administrator,
   * or the right in the metadata of `$all`; so does writing to streams whose names begin with `$`. Everybody
   * may do everything with other streams. Clients send credentials over TLS alone.
   */
  users: ReadonlyMap<string, StandInUser> | null = null;
  /** Answers every append and read that it is not ready, as a server that starts. */
  isStarting = false;
  /** Answers every append and read that there is no leader, as a node whose cluster is electing one. */
  isLeaderless = false;
  readonly #log: StandInLog;
  readonly #subscriptions = new Set<ReadCall>();
  readonly #reads = new Set<ReadCall>();
  readonly #batches = new Set<BatchCall>();
  #sent = 0;
  readonly #clock: Clock;
  readonly #tls: Tls | null;
  #authorization: string | null = null;
  #server: Server | null = null;
  #port = 0;
  #changed: { readonly promise: Promise<void>; readonly ring: () => void } = this.#bell();

  private constructor(clock: Clock, tls: Tls | null) {
    this.#clock = clock;
    this.#tls = tls;
    this.#log = new StandInLog(clock);
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

  /** How many batches of appends are open now. */
  get openBatches(): number {
    return this.#batches.size;
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
      batchAppend: (call: BatchCall) => this.#batchAppend(call),
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
          .setInstanceId(new shared.UUID().setString(standInId))
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
    this.#log.rewind(keep);
    this.noise(1);
  }

  /** What it keeps, in order. */
  get kept(): readonly StoredRecord[] {
    return this.#log.records;
  }

  /** Stores an event as it is given, without asking for anything. */
  plant(stream: string, event: Omit<ProposedRecord, 'id'> & { readonly id?: string }): void {
    const id = `d0d0d0d0-0000-4000-8000-${String(this.records).padStart(12, '0')}`;
    this.#log.store(stream, { contentType: 'application/json', id, ...event });
  }

  /** Puts other records in place of all. */
  replace(records: readonly StoredRecord[]): void {
    this.#log.replace(records);
  }

  /** Replaces a text in the data of every record: what somebody with the server's files could do. */
  rewrite(text: string, by: string): void {
    for (const record of this.#log.records) {
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
    this.#batches.clear();
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
      this.#log.store('$stats-127.0.0.1:2113', {
        id: `00000000-0000-4000-9000-${String(this.records).padStart(12, '0')}`,
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
    return this.#log.streamNames();
  }

  /** Stores what other programs write in large quantities. */
  others(others: OthersRecords): void {
    this.#log.addOthers(others);
    this.#ring();
  }

  /** Stores an event that another program wrote. */
  foreign(stream: string): void {
    this.#log.store(stream, { id: '00000000-0000-4000-a000-000000000001', type: 'Foreign' });
    this.#ring();
  }

  /** Deletes a stream for good: its events are gone from it, and it takes no others. */
  tombstone(stream: string): void {
    this.#log.tombstone(stream);
    this.#ring();
  }

  /** Deletes a stream so that it may begin again, above the last revision that it had. */
  softDelete(stream: string): void {
    this.#log.softDelete(stream);
    this.#ring();
  }

  /** Hides the beginning of a stream, as `$tb` and `$maxCount` do. */
  truncate(stream: string, metadata: Pick<StreamMetadata, 'truncateBefore' | 'maxCount'>): void {
    this.#log.truncate(stream, metadata);
    this.#ring();
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
    return this.#log.store(stream, event).commit;
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

  /** The user of a call, or what is wrong with his credentials. */
  #userOf({
    metadata,
  }: {
    readonly metadata: Metadata;
  }): { readonly name: string } | ReturnType<typeof callError> {
    const [, basic] = /^Basic (.*)$/.exec(String(metadata.get('authorization')[0])) ?? [];
    const [name = '', password] = Buffer.from(basic ?? '', 'base64')
      .toString()
      .split(':');
    if (this.users === null || this.users.get(name)?.password === password) return { name };
    return callError(status.UNAUTHENTICATED, undefined, 'Failed to authenticate');
  }

  #isAdministrator(name: string): boolean {
    return this.users === null || this.users.get(name)?.isAdministrator === true;
  }

  /** Why a call that reads this stream, or `$all`, is refused; null if it isn't. */
  #readDenial(call: ReadCall, stream: string | null) {
    const user = this.#userOf(call);
    if (user instanceof Error) return user;
    if (this.isStarting) return callError(status.UNAVAILABLE, undefined, 'Server Is Not Ready');
    if (this.isLeaderless) return callError(status.UNKNOWN, undefined, noLeader);
    if (stream === null && this.denies === status.UNAUTHENTICATED)
      return callError(status.UNAUTHENTICATED, undefined, 'Access Denied');
    const readers = this.#log.metadataOf('$all').readers ?? [];
    const mayReadAll =
      this.#isAdministrator(user.name) || readers.includes(user.name) || readers.includes('$all');
    return stream === null && (this.denies !== null || !mayReadAll)
      ? callError(status.PERMISSION_DENIED, 'access-denied', 'Access Denied')
      : null;
  }

  async #append(
    call: ServerReadableStream<AppendReq, AppendResp>,
    answer: sendUnaryData<AppendResp>,
  ): Promise<void> {
    this.#count('append');
    this.#authorization = call.metadata.get('authorization').map(String)[0] ?? null;
    let options = new streams.AppendReq.Options();
    const proposed: ProposedRecord[] = [];
    try {
      for await (const part of call as AsyncIterable<AppendReq>) {
        options = part.getOptions() ?? options;
        const message = part.getProposedMessage();
        if (message !== undefined) proposed.push(toProposed(message));
      }
    } catch {
      return; // The caller went away in the middle of the call.
    }
    // A call that was cancelled half-way seems to end normally; a turn later it is known to be cancelled.
    await nextTurn();
    if (call.cancelled) return;
    const user = this.#userOf(call);
    if (user instanceof Error) return answer(user);
    const stream = nameOf(options.getStreamIdentifier());
    const expected = expectedRevision(options);
    await this.#meetFate(user.name, stream, expected, proposed, {
      accepted: (outcome, placed) => {
        if (outcome.kind === 'tombstoned') answer(streamDeleted(stream));
        else if (outcome.kind === 'too large') answer(tooLarge());
        else if (outcome.kind === 'wrong revision') answer(null, wrongRevision(expected, outcome.current));
        else answer(null, appended(outcome.revision, placed ? outcome.position : null));
      },
      refused: (code, exception, details) =>
        answer(exception === 'not-leader' ? notLeader(this.#port) : callError(code, exception, details)),
      failed: (code) => answer(callError(code)),
    });
  }

  /**
   * Appends that come over one call, each under the id that its client gave it, are answered as they are
   * stored.
   */
  #batchAppend(call: BatchCall): void {
    this.#count('batch');
    this.#authorization = call.metadata.get('authorization').map(String)[0] ?? null;
    const user = this.#userOf(call);
    call.on('error', () => undefined);
    if (!this.hasBatchAppend) return void call.emit('error', callError(status.UNIMPLEMENTED));
    if (user instanceof Error) return void call.emit('error', user);
    this.#batches.add(call);
    for (const end of ['cancelled', 'close', 'finish']) call.once(end, () => this.#batches.delete(call));
    const begun = new Map<string, { options: BatchAppendReq.Options; proposed: ProposedRecord[] }>();
    call.on('end', () => call.end());
    call.on('data', (part: BatchAppendReq) => {
      if (!this.#batches.has(call)) return;
      const id = part.getCorrelationId();
      const key = id?.getString() ?? '';
      const options = part.getOptions();
      if (options !== undefined && !begun.has(key)) begun.set(key, { options, proposed: [] });
      const append = begun.get(key);
      append?.proposed.push(...part.getProposedMessagesList().map(toProposed));
      if (append === undefined || !part.getIsFinal()) return;
      begun.delete(key);
      this.#count('batchAppend');
      const respond = (response: BatchAppendResp): void => {
        if (!this.#batches.has(call)) return;
        response.setCorrelationId(id).setStreamIdentifier(append.options.getStreamIdentifier());
        call.write(response);
      };
      const expected = expectedOfBatch(append.options);
      const stream = nameOf(append.options.getStreamIdentifier());
      const end = (error: ReturnType<typeof callError>): void => {
        if (this.#batches.delete(call)) call.emit('error', error);
      };
      const isDoubled = this.appendFates[0]?.kind === 'doubled';
      void this.#meetFate(user.name, stream, expected, append.proposed, {
        accepted: (outcome, placed) => {
          respond(batchAccepted(outcome, placed, expected));
          if (isDoubled) respond(batchAccepted(outcome, placed, expected));
        },
        refused: (_code, exception, details) =>
          exception === 'not-leader' ? end(notLeader(this.#port)) : respond(batchRefusal(exception, details)),
        failed: (code) => end(callError(code)),
      });
    });
  }

  /** What becomes of one append. */
  async #meetFate(
    user: string,
    stream: string,
    expected: Expected,
    proposed: readonly ProposedRecord[],
    reply: Reply,
  ): Promise<void> {
    const accept = (): Accepted => {
      const outcome = this.#log.append(stream, expected, proposed);
      this.#ring();
      return outcome;
    };
    const fate = this.appendFates.shift();
    if (this.appendTime > 0) await this.#clock.sleep(this.appendTime);
    if (this.isStarting) return reply.refused(status.UNAVAILABLE, undefined, 'Server Is Not Ready');
    if (this.isLeaderless) return reply.refused(status.UNKNOWN, undefined, noLeader);
    if (stream.startsWith('$') && !this.#isAdministrator(user))
      return reply.refused(status.PERMISSION_DENIED, 'access-denied', 'Access Denied');
    switch (fate?.kind) {
      case undefined:
      case 'doubled':
        return reply.accepted(accept(), true);
      case 'unplaced':
        return reply.accepted(accept(), false);
      case 'conflicting': {
        const found = this.#log.stream(stream);
        const current = found.kind === 'events' ? Number(found.records.at(-1)?.revision ?? -1) : -1;
        return reply.accepted({ kind: 'wrong revision', current }, true);
      }
      case 'refused':
        return reply.refused(fate.code, fate.exception, fate.details);
      case 'lost':
        if (fate.stored) accept();
        return reply.failed(fate.code ?? status.UNAVAILABLE);
      case 'silent':
        if (fate.stored) accept();
        return;
      case 'late':
        reply.failed(status.UNAVAILABLE);
        await fate.until;
        return void accept();
      case 'delayed': {
        const outcome = accept();
        await fate.until;
        return reply.accepted(outcome, true);
      }
    }
  }

  /** Which streams a filter lets through: none if it names neither prefixes nor a regular expression. */
  #wanted(options: ReadReq.Options): Wanted {
    const filter = options.getFilter()?.getStreamIdentifier();
    if (filter === undefined) return everything;
    const [prefixes, regex] = [filter.getPrefixList(), filter.getRegex()];
    const pattern = new RegExp(regex);
    if (prefixes.length === 0 && regex !== '') return (stream) => pattern.test(stream);
    return (stream) => prefixes.some((prefix) => stream.startsWith(prefix));
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
    const name = from === undefined ? null : nameOf(from.getStreamIdentifier());
    const denial = this.#readDenial(call, name);
    if (denial !== null) return void call.emit('error', denial);
    const isBackwards = options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS;
    const limit = Number(options.getCount());
    if (name === null) return this.#readLog(call, options, isBackwards, limit);
    const found = this.#log.stream(name);
    if (found.kind === 'tombstoned') return void call.emit('error', streamDeleted(name));
    if (found.kind === 'none') {
      call.write(
        new streams.ReadResp().setStreamNotFound(
          new streams.ReadResp.StreamNotFound().setStreamIdentifier(streamIdentifier(name)),
        ),
      );
      return void call.end();
    }
    const revision = from?.hasRevision() === true ? BigInt(from.getRevision()) : null;
    const ordered = pageOf(found.records, { revision, isBackwards, limit });
    const fate = this.readFates.shift();
    if ((await this.#send(call, ordered, this.placesStreamReads, fate)) && fate?.kind !== 'silent')
      call.end();
  }

  /**
   * A read of `$all`: forwards from a position, or backwards from before it. With a filter, the server reads
   * on after the last event that was asked for, until it has found another one or the end; asked for none, it
   * never ends.
   */
  async #readLog(call: ReadCall, options: ReadReq.Options, isBackwards: boolean, limit: number) {
    const log = this.#log;
    const isFiltered = options.hasFilter();
    const fail = (code: status, details: string) =>
      void call.emit('error', callError(code, undefined, details));
    if (isFiltered && !this.hasFilteredReads)
      return fail(status.INVALID_ARGUMENT, 'The combination of (All, Count, Forwards, Filter) is invalid.');
    const all = options.getAll();
    const position = all?.hasPosition() === true ? BigInt(all.getPosition()?.getCommitPosition() ?? 0) : null;
    if (position !== null && log.isInsideRecord(position))
      return fail(
        status.UNKNOWN,
        `Unexpected ${isFiltered ? 'FilteredReadAllResult' : 'ReadAllResult'}: InvalidPosition`,
      );
    const begin = position === null ? (all?.hasEnd() === true ? log.length : 0) : log.indexFrom(position);
    const fate = this.readFates.shift();
    const found = this.#search(
      this.#wanted(options),
      isBackwards ? begin - 1 : begin,
      isBackwards,
      isFiltered,
    );
    let left = limit;
    const page = async function* () {
      for await (const record of found) {
        if (left === 0) return;
        yield record;
        left -= 1;
        if (left === 0 && !isFiltered) return;
      }
      if (isFiltered && limit === 0) await new Promise<void>((resolve) => call.once('close', resolve));
    };
    if ((await this.#send(call, page(), true, fate)) && fate?.kind !== 'silent' && !isOver(call)) call.end();
  }

  /** What is wanted of the log, at the speed of a server; null where it has found nothing for a while. */
  async *#search(wanted: Wanted, from: number, isBackwards: boolean, isFiltered: boolean) {
    const step = isBackwards ? -1 : 1;
    for (let place: number | null = from; place !== null; place += step) {
      const [end, began] = [isBackwards ? -1 : this.#log.length, place];
      place = this.#log.next(place, wanted, isBackwards);
      const passed = Math.abs((place ?? end) - began);
      if (isFiltered && passed > 1_000) await this.#clock.sleep((1_000 * passed) / this.passesOver);
      const record = place === null ? undefined : this.#log.at(place);
      if (place === null || record === undefined) return;
      yield record;
    }
  }

  /** Sends events as fast as the reader takes them. Returns false if the call is over. */
  async #send(
    call: ReadCall,
    records: Iterable<StoredRecord> | AsyncIterable<StoredRecord>,
    placed: boolean,
    fate: ReadFate | undefined,
  ): Promise<boolean> {
    const limit = fate === undefined || fate.kind === 'twice' ? Infinity : fate.after;
    let sent = 0;
    for await (const record of records) {
      if (sent >= limit) break;
      for (let copies = fate?.kind === 'twice' ? 2 : 1; copies > 0; copies -= 1) {
        if (isOver(call)) return false;
        this.#sent += 1;
        const response = new streams.ReadResp().setEvent(toReadEvent(record, placed));
        if (!call.write(response)) await drained(call);
      }
      sent += 1;
    }
    if (fate?.kind !== 'cut' || sent < fate.after) return true;
    call.emit('error', callError(fate.code ?? status.UNAVAILABLE));
    return false;
  }

  /**
   * Sends the events after a position, then new ones. Like the server, it also sends checkpoints, which run
   * ahead of what the consumer has taken, and says when it has caught up.
   */
  async #subscribe(call: ReadCall, options: ReadReq.Options): Promise<void> {
    this.#count('subscribe');
    const denial = this.#readDenial(call, null);
    if (denial !== null) return void call.emit('error', denial);
    const fate = this.subscriptionFates.shift();
    const wanted = this.#wanted(options);
    const [from, filter] = [options.getAll()?.getPosition(), options.getFilter()];
    const after = BigInt(from?.getCommitPosition() ?? -1);
    if (this.#log.isInsideRecord(after))
      return void call.emit(
        'error',
        callError(status.INVALID_ARGUMENT, undefined, 'Trying to read from an invalid position.'),
      );
    this.#subscriptions.add(call);
    // The record at {C, C} comes after the position {C, 0}, which a checkpoint names.
    let next = this.#log.indexFrom(BigInt(from?.getPreparePosition() ?? -1) < after ? after : after + 1n);
    const window = (filter?.getMax() ?? 32) * (filter?.getCheckpointintervalmultiplier() ?? 1) || 32;
    let left = fate;
    let isCaughtUp = false;
    call.write(
      new streams.ReadResp().setConfirmation(
        new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId('stand-in'),
      ),
    );
    const ended = new Promise<void>((resolve) => call.once('cancelled', resolve).once('close', resolve));
    const checkpoint = async (commit: bigint, prepare: bigint): Promise<void> => {
      const at = new streams.ReadResp.Checkpoint()
        .setCommitPosition(commit.toString())
        .setPreparePosition(prepare.toString());
      if (!call.write(new streams.ReadResp().setCheckpoint(at))) await drained(call);
    };
    while (!isOver(call) && this.#subscriptions.has(call)) {
      const changed = this.#changed.promise;
      const end = this.#log.length;
      if (next < end) {
        // What comes after the window that begins here.
        const upTo = Math.min(end, next + (isCaughtUp ? end : Math.max(window, 500)));
        const mine: StoredRecord[] = [];
        for (let place = this.#log.next(next, wanted); place !== null && place < upTo;) {
          const record = this.#log.at(place);
          if (record !== undefined) mine.push(record);
          place = this.#log.next(place + 1, wanted);
        }
        const passed = upTo - next - mine.length;
        if (passed > 1_000) await this.#clock.sleep((1_000 * passed) / this.passesOver);
        next = upTo;
        const unread = this.#log.at(next);
        if (isCaughtUp || unread === undefined) {
          const head = this.#log.at(next - 1)?.commit ?? 0n;
          await checkpoint(head, head);
        } else await checkpoint(unread.commit, 0n);
        if (!(await this.#send(call, mine, true, left))) return;
        if (left !== undefined && left.kind !== 'twice') left = { ...left, after: left.after - mine.length };
        continue;
      }
      if (!isCaughtUp) call.write(new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp()));
      isCaughtUp = true;
      await Promise.race([changed, ended]);
    }
  }
}

/** A page of a stream: from a revision, or from its end if that is null and the page goes backwards. */
const pageOf = (
  records: readonly StoredRecord[],
  {
    revision,
    isBackwards,
    limit,
  }: { readonly revision: bigint | null; readonly isBackwards: boolean; readonly limit: number },
): readonly StoredRecord[] => {
  const first = records[0]?.revision ?? 0n;
  // Within what is visible, revisions have no gaps.
  const place = revision === null ? (isBackwards ? records.length - 1 : 0) : Number(revision - first);
  if (!isBackwards) return records.slice(Math.max(0, place), Math.max(0, place) + limit);
  const last = Math.min(place, records.length - 1);
  return records.slice(Math.max(0, last + 1 - limit), last + 1).reverse();
};

/** Resolves when the reader takes more, or is gone. */
const drained = (call: ReadCall): Promise<void> =>
  new Promise<void>((resolve) => {
    const events = ['drain', 'cancelled', 'close', 'error'];
    const go = () => {
      for (const event of events) call.off(event, go);
      resolve();
    };
    for (const event of events) call.once(event, go);
  });
