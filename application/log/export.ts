import { createHash, hash as digestOf } from 'node:crypto';
import type { ArtworkDigest, Front } from '../../domain/artwork.js';
import { audit, auditIdOf, everything, type ExportKind } from '../../domain/audit.js';
import { cardStream } from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import { DomainError } from '../../domain/errors.js';
import type { EventMetadata } from '../../domain/events.js';
import { idOf, type Milliseconds, type OrganizationId, type StreamName } from '../../domain/ids.js';
import { nodeHash, rootOf, tileWidth, type Hash } from '../../domain/merkle.js';
import { originOf, signNote, type NoteSigner } from '../../domain/signed-note.js';
import { chainChecker } from './checked-leaves.js';
import { turnAlone } from '../timing/next-turn.js';
import { newCommand, execute, type Initiator, type WriteDeps } from '../writing/execute.js';
import { withoutMac, type RawEvent } from './hash-chain.js';
import { assertUndamaged, DamagedLog, logDamaged } from './damaged-log.js';
import { placeOf, entriesIn, type Entry } from './log-entries.js';
import { consistencyProof, frontierAt, inclusionProof } from './log-proofs.js';
import { erasureFinder } from '../personal/erased.js';
import type { KeyRing } from '../personal/key-ring.js';
import type { Artwork } from '../ports/artwork.js';
import { clockTolerance, EventStoreUnavailable } from '../ports/event-store.js';
import type { Checkpoint, LogTiles } from '../ports/log-tiles.js';
import type { RawLog, StoredEvent } from '../ports/raw-log.js';

export interface ExportDeps extends WriteDeps {
  readonly raw: RawLog;
  readonly tiles: LogTiles;
  /** Sign the statements: the keys that sign the checkpoints, the newest first. */
  readonly signers: readonly NoteSigner[];
  readonly keys: Pick<KeyRing, 'load' | 'keyOf'> | null;
  readonly artwork: Pick<Artwork, 'get'>;
  /** Whether enough witnesses have signed a checkpoint; null if there are none. */
  readonly isWitnessed: ((note: string) => boolean) | null;
  /** How many streams an export knows the last events of, before it forgets some. */
  readonly rememberedStreams?: number;
}

/** A position, or a time. */
export type ExportBound = bigint | Milliseconds;

export type ExportSubject =
  | { readonly kind: 'card'; readonly code: CardCode }
  | { readonly kind: 'organization'; readonly org: OrganizationId }
  /**
   * Events after the position, or from the time on; up to the position, or before the time. Null: from the
   * first, up to the last. `org`: of others only the leaves.
   */
  | {
      readonly kind: 'period';
      readonly org: OrganizationId | null;
      readonly from: ExportBound | null;
      readonly to: ExportBound | null;
    };

export interface ExportOptions {
  readonly personal: boolean;
  /** With the print masters of the fronts that the events name. */
  readonly artwork: boolean;
  /** The size of an older tree, for a proof that it is a prefix of this one. */
  readonly since: number | null;
}

const format = 'handwritten-card-service/export/v1';
const statementHeading = 'handwritten-card-service/statement/v1';

/** How long an export waits for the signature of the events before it. */
const signatureTimeout: Milliseconds = 30_000;
/** How long an export waits for witnesses: without them, it is still signed by the log. */
const witnessTimeout: Milliseconds = 5_000;
const pollInterval: Milliseconds = 50;

/** One tile of leaves, as far as the tree goes. */
interface ExportedTile {
  readonly start: number;
  readonly leaves: readonly Entry[];
}

/** Reads a tile with its events. Throws DamagedLog where they differ from the notarized ones. */
const readTile = async (deps: Pick<ExportDeps, 'tiles' | 'raw'>, n: number, size: number) => {
  const start = n * tileWidth;
  const width = Math.min(tileWidth, size - start);
  await turnAlone();
  const leaves = await entriesIn(deps, n, width);
  if (leaves.length < width) throw new Error(`the tile ${n} of the log is missing`);
  return { start, leaves };
};

/** How many events the log has up to a position. */
const countUpTo = async (
  deps: Pick<ExportDeps, 'tiles' | 'raw'>,
  position: bigint,
  size: number,
): Promise<number> => {
  if (position < 1n || size === 0) return 0;
  const n = Math.min(await deps.tiles.tileOf(position), Math.floor((size - 1) / tileWidth));
  const { start, leaves } = await readTile(deps, n, size);
  return start + leaves.filter(({ event }) => event.position <= position).length;
};

type ProofOf = (index: number) => Promise<readonly Hash[]>;

/** Inclusion proofs of the leaves of a tile: their common part is computed once. */
const proofsOf = async (tiles: LogTiles, { start, leaves }: ExportedTile, size: number): Promise<ProofOf> => {
  if (leaves.length < tileWidth) return (index: number) => inclusionProof(tiles, index, size);
  const rows: Hash[][] = [leaves.map(({ hash }) => hash)];
  for (let row = rows[0] ?? []; row.length > 1; rows.push(row))
    row = row.flatMap((left, at) => {
      const right = row[at + 1];
      return at % 2 === 0 && right !== undefined ? [nodeHash(left, right)] : [];
    });
  const above = (await inclusionProof(tiles, start, size)).slice(rows.length - 1);
  return async (index) => {
    const within = rows
      .slice(0, -1)
      .flatMap((row, height) => row[Math.floor((index - start) / 2 ** height) ^ 1] ?? []);
    return [...within, ...above];
  };
};

/** After this many events other work has a turn. */
const checkedPerTurn = 64;

/** Checks events as `chainChecker` does, and returns what is before them in their streams. */
const eventsChecker = ({ raw, rememberedStreams }: Pick<ExportDeps, 'raw' | 'rememberedStreams'>) => {
  const check = chainChecker(raw, false, rememberedStreams);
  let count = 0;
  return async (event: StoredEvent) => {
    if (++count % checkedPerTurn === 0) await turnAlone();
    return (await check(event)).before;
  };
};

const metadataOf = ({ metadata }: RawEvent) => JSON.parse(metadata) as EventMetadata;
const base64 = (hashes: readonly Hash[]): string[] => hashes.map((hash) => hash.toString('base64'));

/** The facts of an exported event besides its texts. */
interface Standing {
  /** Only the leaf is shown. */
  readonly isAlone?: true;
  readonly proof?: readonly string[];
  readonly previous?: string;
  readonly before?: object;
}

/** Personal data as an export shows it: as it is stored, with its key unless it was erased. */
const personalIn = ({ keys, raw }: Pick<ExportDeps, 'keys' | 'raw'>, options: ExportOptions) => {
  const isErased = erasureFinder((stream, from) => raw.readStoredStream(stream, from));
  return async (event: StoredEvent) => {
    const { keyId } = metadataOf(event);
    if (keyId === null) return { personal: null };
    if (!options.personal) return { personal: null, key: null };
    await keys?.load([keyId]);
    const key = (await isErased(event)) ? null : keys?.keyOf(keyId);
    return { personal: event.personal, key: key?.toString('base64') ?? null };
  };
};

/** Makes lines of events when they are asked for: the exact texts that are stored. */
const lineMaker = (deps: Pick<ExportDeps, 'keys' | 'raw'>, options: ExportOptions) => {
  const personalOf = personalIn(deps, options);
  return async (leaf: Entry & Standing): Promise<Part> => {
    const { index, orgSeq, event, proof, previous, before } = leaf;
    if (leaf.isAlone === true)
      return { line: JSON.stringify({ leaf: leaf.hash.toString('base64') }), event: null };
    const { org } = metadataOf(event);
    const { stream, revision, id, type, data } = event;
    const metadata = withoutMac(event.metadata);
    const personal = await personalOf(event);
    const line = { index, stream, revision, org, org_seq: orgSeq, id, type, data, ...personal, metadata };
    const standing = { ...(proof && { proof }), ...(previous && { previous }), ...(before && { before }) };
    return { line: JSON.stringify({ ...line, ...standing }), event };
  };
};

/** A line of an export before its last one; `event`: null if it shows a leaf alone, or a front. */
interface Part {
  readonly line: string;
  readonly event: StoredEvent | null;
}

async function* tilesFrom(deps: ExportDeps, from: number, size: number): AsyncGenerator<ExportedTile> {
  for (let n = Math.floor(from / tileWidth); n * tileWidth < size; n += 1) yield readTile(deps, n, size);
}

/**
 * The tiles with the events of a stream. Where the engine does not tell the positions of a stream's events,
 * the log is read from the first of them on until all are found.
 */
async function* tilesWith(deps: ExportDeps, stream: StreamName, size: number): AsyncGenerator<ExportedTile> {
  const { store, tiles } = deps;
  const events = await store.readStream(stream, 0);
  const [first] = events;
  if (first === undefined) return;
  const numbers = new Set<number>();
  for (const { position } of events) if (position !== null) numbers.add(await tiles.tileOf(position));
  for (const n of numbers) if (n * tileWidth < size) yield readTile(deps, n, size);
  if (first.position !== null) return;
  const before = await store.positionBefore({ time: Date.parse(first.metadata.occurredAt) });
  let left = events.length;
  for await (const tile of tilesFrom(deps, (await tiles.tileOf(before)) * tileWidth, size)) {
    yield tile;
    left -= tile.leaves.filter(({ event }) => event.stream === stream).length;
    if (left === 0) return;
  }
}

/** Shows the leaves of tiles, each tile once it was checked. `standingOf`: null leaves a leaf out. */
async function* partsOf(
  deps: ExportDeps,
  options: ExportOptions,
  tiles: AsyncIterable<ExportedTile>,
  standingOf: (leaf: Entry, tile: ExportedTile) => Promise<Standing | null>,
): AsyncGenerator<Part> {
  const lineOf = lineMaker(deps, options);
  for await (const tile of tiles) {
    const shown: (Entry & Standing)[] = [];
    for (const leaf of tile.leaves) {
      const standing = await standingOf(leaf, tile);
      if (standing !== null) shown.push({ ...leaf, ...standing });
    }
    for (const leaf of shown) yield lineOf(leaf);
  }
}

/** The events that are wanted, with proofs that they stand in the tree. */
const proven = (deps: ExportDeps, size: number, isWanted: (event: StoredEvent) => boolean) => {
  const check = eventsChecker(deps);
  let last: ExportedTile | null = null;
  let proofOf: ProofOf = async () => [];
  return async (leaf: Entry, tile: ExportedTile): Promise<Standing | null> => {
    if (!isWanted(leaf.event)) return null;
    await check(leaf.event);
    if (last !== tile) [last, proofOf] = [tile, await proofsOf(deps.tiles, tile, size)];
    return { proof: base64(await proofOf(leaf.index)) };
  };
};

/** Reads everything before the first byte is sent, so that damage can still set the status. */
async function* readFirst(parts: AsyncIterable<Part>): AsyncGenerator<Part> {
  const all: Part[] = [];
  for await (const part of parts) all.push(part);
  yield* all;
}

/** Whether the event before this one in its stream is before the period that begins with a leaf. */
const isBefore = async (
  deps: ExportDeps,
  { stream, revision }: StoredEvent,
  first: Entry,
): Promise<boolean> => {
  const [before] = await deps.raw.readStoredStream(stream, revision - 1, 1);
  const position = before?.position ?? null;
  if (position !== null) return position < first.event.position;
  return ((await placeOf(deps, stream, revision - 1))?.index ?? -1) < first.index;
};

/**
 * Shows that an organization's last event before a period precedes the period: nothing of the organization is
 * left out between them. Null if there is none.
 */
const eventBefore = async (
  deps: ExportDeps,
  org: OrganizationId,
  { index, orgSeq, event: { position } }: Entry,
  size: number,
): Promise<object | null> => {
  if (orgSeq === 0) return null;
  for (let n = Math.floor(index / tileWidth); n >= 0; n -= 1) {
    const numbers = (await deps.tiles.leaves(n))?.orgSeqs;
    if (numbers?.includes(orgSeq - 1) !== true) continue;
    const { leaves } = await readTile(deps, n, size);
    const found = leaves.find((leaf) => leaf.orgSeq === orgSeq - 1 && metadataOf(leaf.event).org === org);
    if (found === undefined) continue;
    const { stream, revision } = found.event;
    const { hash } = metadataOf(found.event);
    const proof = base64(await inclusionProof(deps.tiles, found.index, size));
    return { index: found.index, stream, revision, org, org_seq: found.orgSeq, hash, proof };
  }
  throw new DamagedLog(position, `the event before it of its organization is not in the log`);
};

/** The events of a period from the leaf `from` on, and of other organizations the leaves alone. */
const inPeriod = (deps: ExportDeps, org: OrganizationId | null, from: number, size: number) => {
  const check = eventsChecker(deps);
  let first: Entry | null = null;
  let isFirst = true;
  return async (leaf: Entry): Promise<Standing | null> => {
    if (leaf.index < from) return null;
    first ??= leaf;
    if (org !== null && metadataOf(leaf.event).org !== org) return { isAlone: true };
    const before = await check(leaf.event);
    const isEntry = before !== null && (before.isOutside ?? (await isBefore(deps, leaf.event, first)));
    const earlier = org === null || !isFirst ? null : await eventBefore(deps, org, leaf, size);
    isFirst = false;
    return { ...(isEntry && { previous: before.hash }), ...(earlier && { before: earlier }) };
  };
};

/** The front that a card, a design or a card of the collection has by an event. */
const frontIn = ({ data }: StoredEvent): ArtworkDigest | null => {
  const { order, design, artwork } = JSON.parse(data) as {
    readonly order?: { readonly design: { readonly front?: ArtworkDigest | null } } | null;
    readonly design?: { readonly artwork?: Front | null } | null;
    readonly artwork?: Front | null;
  };
  return order?.design.front ?? (design?.artwork ?? artwork)?.digest ?? null;
};

/**
 * Adds the print masters of all fronts that the events name; null for one that was erased or lost. Throws for
 * one that is damaged.
 */
async function* withFronts({ artwork }: ExportDeps, parts: AsyncIterable<Part>): AsyncGenerator<Part> {
  const named = new Set<ArtworkDigest>();
  for await (const part of parts) {
    const front = part.event && frontIn(part.event);
    if (front !== null) named.add(front);
    yield part;
  }
  for (const front of named) {
    const master = await artwork.get(front, 'master');
    if (master !== null && digestOf('sha256', master) !== front)
      throw new Error(
        `Front ${front} has other bytes than it was saved with: upload the same picture again.`,
      );
    const bytes = master?.toString('base64') ?? null;
    yield { line: JSON.stringify({ front, bytes }), event: null };
  }
}

/** The size of the tree at the beginning of a period, or at its end. */
const sizeAt = async (
  deps: ExportDeps,
  moment: ExportBound,
  isEnd: boolean,
  size: number,
): Promise<number> => {
  if (typeof moment === 'bigint') return countUpTo(deps, moment, size);
  const begins = await countUpTo(deps, await deps.store.positionBefore({ time: moment }), size);
  return isEnd ? lastBefore(deps, moment, begins, size) : begins;
};

/** The last event before a time, as far as clocks may differ. */
const lastBefore = async (
  deps: ExportDeps,
  time: Milliseconds,
  from: number,
  size: number,
): Promise<number> => {
  let end = from;
  for await (const { leaves } of tilesFrom(deps, from, size))
    for (const { index, event } of leaves) {
      const at = Date.parse(metadataOf(event).occurredAt);
      if (index >= from && at < time) end = index + 1;
      if (index >= from && at >= time + clockTolerance) return end;
    }
  return end;
};

/**
 * Waits until everything that was written before is signed under the log's name, and returns the newest
 * checkpoint. Throws EventStoreUnavailable if that takes too long: the notary does not run, or lags.
 */
const signedHead = async (
  { store, tiles, raw, clock, isWitnessed }: ExportDeps,
  origin: string,
  signal: AbortSignal,
): Promise<Checkpoint> => {
  const { position } = await store.head();
  const began = clock.monotonic();
  for (;;) {
    await assertUndamaged(tiles);
    const [tree, newest] = [await tiles.tree(), await tiles.newest()];
    const isCovered =
      newest !== null &&
      originOf(newest.note) === origin &&
      tree.position >= position &&
      newest.size >= (await countUpTo({ tiles, raw }, position, tree.size));
    const waited = clock.monotonic() - began;
    const isDone = isWitnessed === null || waited >= witnessTimeout;
    if (isCovered && (isDone || isWitnessed(newest.note))) return newest;
    if (signal.aborted || waited >= signatureTimeout)
      throw new EventStoreUnavailable('The newest events are not signed yet: does the notary run?');
    await clock.sleep(pollInterval, signal);
  }
};

/**
 * The span of a period. It ends at a kept checkpoint, so that its witnesses have signed it: at or after `to`,
 * and of the name that the log has now.
 */
const spanOf = async (
  deps: ExportDeps,
  { from, to }: Extract<ExportSubject, { kind: 'period' }>,
  newest: Checkpoint,
): Promise<{ readonly from: number; readonly tree: Checkpoint }> => {
  const begin = from === null ? 0 : await sizeAt(deps, from, false, newest.size);
  const end = to === null ? newest.size : await sizeAt(deps, to, true, newest.size);
  if (end < begin || (end === begin && from !== null && to !== null && from > to))
    throw new DomainError('invalid_parameter', '`to` lies before `from`.', 'to');
  const kept = to === null ? [] : await deps.tiles.kept();
  const origin = originOf(newest.note);
  const tree =
    kept.find(({ size, note }) => size >= Math.max(end, begin, 1) && originOf(note) === origin) ?? newest;
  return { from: begin, tree };
};

interface Plan {
  readonly kind: ExportKind;
  readonly subject: string;
  /** The owner of the events; null for all organizations. */
  readonly org: OrganizationId | null;
  /** The tree that it belongs to. */
  readonly tree: Checkpoint;
  readonly head: object;
  readonly parts: AsyncIterable<Part>;
}

const planOf = async (
  deps: ExportDeps,
  wanted: ExportSubject,
  options: ExportOptions,
  newest: Checkpoint,
): Promise<Plan> => {
  const { size } = newest;
  if (wanted.kind === 'card') {
    const stream = cardStream(wanted.code);
    const [first] = await deps.raw.readStoredStream(stream, 0, 1);
    if (first === undefined) throw new DomainError('card_not_found', `There is no card ${idOf(stream)}.`);
    const { org } = metadataOf(first);
    const shown = proven(deps, size, (event) => event.stream === stream);
    const parts = readFirst(partsOf(deps, options, tilesWith(deps, stream, size), shown));
    return { kind: 'card', subject: stream, org, tree: newest, head: {}, parts };
  }
  if (wanted.kind === 'organization') {
    const { org } = wanted;
    const shown = proven(deps, size, (event) => metadataOf(event).org === org);
    const parts = partsOf(deps, options, tilesFrom(deps, 0, size), shown);
    return { kind: 'organization', subject: org, org, tree: newest, head: {}, parts };
  }
  const { org } = wanted;
  const { from, tree } = await spanOf(deps, wanted, newest);
  const { roots } = await frontierAt(deps.tiles, from);
  const shown = inPeriod(deps, org, from, tree.size);
  const parts = partsOf(deps, options, tilesFrom(deps, from, tree.size), shown);
  const head = { from, frontier: base64(roots) };
  return { kind: 'period', subject: org ?? everything, org, tree, head, parts };
};

const recordExport = async (
  deps: ExportDeps,
  initiator: Initiator,
  { kind, subject, org }: Plan,
  { personal, artwork }: ExportOptions,
  sum: string | null,
): Promise<void> => {
  const data = { kind, subject, withPersonal: personal, withArtwork: artwork, sum };
  const event = { type: 'AuditExported' as const, data };
  await execute(deps, audit, auditIdOf(org), newCommand(deps, initiator, org), () => [event]);
};

/** The export as it is sent: pieces of text that end at line breaks. */
async function* sent(
  deps: ExportDeps,
  initiator: Initiator,
  plan: Plan,
  options: ExportOptions,
  origin: string,
): AsyncGenerator<string> {
  const { kind, subject, tree } = plan;
  const parts = options.artwork ? withFronts(deps, plan.parts) : plan.parts;
  const body = createHash('sha256');
  let sum: string | null = null;
  let isOpen = false;
  try {
    // The tree that the proof of consistency is for is named, so that the statement covers the proof.
    const older = options.since === null ? null : await frontierAt(deps.tiles, options.since);
    const since = older && { since: { size: older.size, root: rootOf(older).toString('base64') } };
    const shown = options.artwork && { artwork: true };
    const about = { format, kind, subject, origin, tree_size: tree.size, ...plan.head, ...since, ...shown };
    let text = `${JSON.stringify(about)}\n`;
    let count = 0;
    let last = '';
    for await (const { line, event } of parts) {
      text += `${line}\n`;
      body.update(text);
      if (event !== null) {
        count += 1;
        last = metadataOf(event).hash;
      }
      isOpen = true;
      yield text;
      text = '';
    }
    body.update(text);
    sum = body.digest('hex');
    isOpen = false;
    await recordExport(deps, initiator, plan, options, sum);
    const root = tree.root.toString('base64');
    const said = [statementHeading, `${kind} ${subject}`, `tree ${tree.size} ${root}`];
    const held = [`events ${count}`, `last ${last}`, `body ${sum}`, ''];
    const statement = signNote([...said, ...held].join('\n'), deps.signers);
    const proof = older === null ? [] : await consistencyProof(deps.tiles, older.size, tree.size);
    yield `${text}${JSON.stringify({ checkpoint: tree.note, statement, consistency: base64(proof) })}\n`;
  } finally {
    if (isOpen) await recordExport(deps, initiator, plan, options, null);
  }
}

/**
 * Exports events of the log, with proofs with which a third party can verify them. Everything that was
 * acknowledged before is included. The export is recorded when it is complete or was broken off; the last
 * line is only given after that. Throws `card_not_found`, `not_found`, `invalid_parameter`, `log_damaged`,
 * and EventStoreUnavailable; the iteration throws DamagedLog where the log is not as it was written.
 */
export const exportLog = async (
  deps: ExportDeps,
  initiator: Initiator,
  wanted: ExportSubject,
  options: ExportOptions,
  signal: AbortSignal,
): Promise<AsyncIterable<string>> => {
  const [signer] = deps.signers;
  if (signer === undefined)
    throw new EventStoreUnavailable('This process has no key to sign statements with.');
  try {
    const plan = await planOf(deps, wanted, options, await signedHead(deps, signer.name, signal));
    if (options.since !== null && options.since > plan.tree.size)
      throw new DomainError('invalid_parameter', `The tree has ${plan.tree.size} events.`, 'since');
    return await begun(sent(deps, initiator, plan, options, signer.name));
  } catch (error) {
    throw error instanceof DamagedLog ? logDamaged(error.position) : error;
  }
};

/** Starts an iteration, so that early failures are thrown here. It can be ended before its first piece. */
const begun = async (pieces: AsyncGenerator<string>): Promise<AsyncIterable<string>> => {
  let first: IteratorResult<string> | null = await pieces.next();
  const next = async (): Promise<IteratorResult<string>> => {
    const given = first ?? (await pieces.next());
    first = null;
    return given;
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: () => pieces.return(undefined) }) };
};
