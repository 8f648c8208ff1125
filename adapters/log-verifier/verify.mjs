// @ts-check
// Checks an export of the Handwritten Card Service, with Node.js 20.19 or later, this file, and no network:
//
//   node verify.mjs FILE --key VKEY [--key OLDER …] [--witness VKEY …] [--quorum N] [--anchor CHECKPOINT]
//
// Take the keys from your contract, never from the file. The service's docs/exports.md has the formats; the
// comments here say what is checked. Each check prints a line:
//
//   PASS  it holds, no matter who made the file
//   FAIL  it does not hold, and why
//   SAID  the operator has signed that it holds, and nothing else shows it
import { createDecipheriv, createHash, createPublicKey, verify as isSignedBy } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { parseArgs } from 'node:util';

/** @typedef {Record<string, any>} Fields What was parsed. `checkFields` looks at it first. */
/** @typedef {ReturnType<typeof keyOf>} Key */
/** @typedef {{ size: number, root: Buffer }} Tree How many leaves a tree has, and the hash at its top. */
/** @typedef {{ keys: string[], witnesses?: string[], quorum?: number | undefined }} Trusted */
/** @typedef {Trusted & { anchor?: string | undefined, onLine?: (end: number) => void }} Options */
/** @type {(holds: unknown, otherwise: string) => asserts holds} */
const must = (holds, otherwise) => {
  if (!holds) throw new Error(otherwise);
};

// Bytes, texts and lines. There is one way to write each of them, so that nothing can be read in two ways.

const sha256 = (/** @type {(string | Uint8Array)[]} */ ...parts) => {
  const sum = createHash('sha256');
  for (const part of parts) sum.update(part);
  return sum.digest();
};

/** @type {(text: string, length?: number) => Buffer} */
const fromBase64 = (text, length) => {
  const bytes = Buffer.from(text, 'base64');
  must(bytes.toString('base64') === text, `${text} is not written in base64`);
  must(length === undefined || bytes.length === length, `${text} has another length`);
  return bytes;
};

const hashesIn = (/** @type {string[]} */ list) => list.map((text) => fromBase64(text, 32));

/** JSON exactly as JSON.stringify writes it: no field twice, no space, no number in another notation. */
const parsed = (/** @type {string} */ text) => {
  const value = JSON.parse(text);
  must(JSON.stringify(value) === text, 'JSON is not written the one way that counts');
  return value;
};

// Half of a surrogate pair is no text: it would be hashed like any other half.
const isText = (/** @type {any} */ value) => typeof value === 'string' && !/\p{Surrogate}/u.test(value);
const isName = (/** @type {any} */ value) => isText(value) && value !== '' && !/\p{Cc}/u.test(value);
const isCount = (/** @type {any} */ value) => Number.isSafeInteger(value) && value >= 0;
const isHex = (/** @type {any} */ value) => isText(value) && /^[0-9a-f]{64}$/.test(value);
const isHash = (/** @type {any} */ value) => isText(value) && /^[\w+/]{43}=$/.test(value);
const isHashes = (/** @type {any} */ value) => Array.isArray(value) && value.every(isHash);
const orNull = (/** @type {(value: any) => boolean} */ is) => (/** @type {any} */ value) =>
  value === null || is(value);

/** Exactly these fields, in this order, each with a value of its kind. */
const checkFields = (/** @type {any} */ value, /** @type {Fields} */ shape, /** @type {string} */ what) => {
  const names = Object.keys(shape);
  const found = value !== null && typeof value === 'object' ? Object.keys(value) : [];
  must(JSON.stringify(found) === JSON.stringify(names), `${what} has other fields than ${names.join(', ')}`);
  for (const name of names) must(shape[name](value[name]), `${what} has a malformed ${name}`);
  return value;
};

const olderTree = { size: isCount, root: isHash };
const isOlderTree = (/** @type {any} */ value) => checkFields(value, olderTree, 'since') === value;
const kinds = ['card', 'organization', 'period'];

const headShape = (/** @type {Fields} */ { kind, since, artwork }) => ({
  format: (/** @type {any} */ value) => value === 'handwritten-card-service/export/v1',
  kind: (/** @type {any} */ value) => kinds.includes(value),
  subject: (/** @type {any} */ value) => isName(value) && (kind !== 'card' || value.startsWith('card-')),
  origin: isName,
  tree_size: isCount,
  ...(kind === 'period' && { from: isCount, frontier: isHashes }),
  ...(since !== undefined && { since: isOlderTree }),
  ...(artwork !== undefined && { artwork: (/** @type {any} */ value) => value === true }),
});

const place = { index: isCount, stream: isName, revision: isCount, org: orNull(isName), org_seq: isCount };
const earlierEvent = { ...place, hash: isHex, proof: isHashes };
const isEarlierEvent = (/** @type {any} */ value) => checkFields(value, earlierEvent, 'before') === value;

const eventShape = (/** @type {string} */ kind, /** @type {Fields} */ { key, previous, before }) => ({
  ...place,
  id: isName,
  type: isName,
  data: isText,
  personal: orNull(isText),
  ...(key !== undefined && { key: orNull(isText) }),
  metadata: isText,
  ...(kind !== 'period' && { proof: isHashes }),
  ...(previous !== undefined && { previous: isHex }),
  ...(before !== undefined && { before: isEarlierEvent }),
});

const frontShape = { front: isHex, bytes: orNull(isText) };
const lastShape = { checkpoint: isText, statement: isText, consistency: isHashes };

// Signed notes (c2sp.org/signed-note): a text, an empty line, and lines with signatures.

/** A key to check with: a name, four bytes of a hash, and one byte for its kind with the key, in base64. */
const keyOf = (/** @type {string} */ vkey, /** @type {boolean} */ isWitness) => {
  const [, name = '', id = '', base64 = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey) ?? [];
  const bytes = fromBase64(base64, 33);
  must(bytes[0] === (isWitness ? 4 : 1), `${vkey} is no key of a ${isWitness ? 'witness' : 'log'}`);
  must(sha256(`${name}\n`, bytes).toString('hex', 0, 4) === id, `${vkey} has another id than its bytes`);
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: bytes.subarray(1).toString('base64url') };
  return { name, id, isWitness, publicKey: createPublicKey({ key: jwk, format: 'jwk' }), base64 };
};

/** The known key of a line with a signature, which must be right; null for a key that was not asked for. */
const signerOf = (/** @type {string} */ line, /** @type {string} */ text, /** @type {Key[]} */ keys) => {
  const [, name = '', base64 = ''] = /^— ([^\s+\p{Cc}]+) (\S+)$/u.exec(line) ?? [];
  const bytes = fromBase64(base64);
  must(name !== '' && bytes.length > 4, 'a line with a signature is malformed');
  const key = keys.find((known) => known.name === name && known.id === bytes.toString('hex', 0, 4));
  if (key === undefined) return null;
  must(bytes.length === (key.isWitness ? 76 : 68), `the signature of ${name} has another length`);
  // A witness signs the time, too (c2sp.org/tlog-cosignature).
  const head = key.isWitness ? `cosignature/v1\ntime ${bytes.readBigUInt64BE(4)}\n` : '';
  const isRight = isSignedBy(null, Buffer.from(`${head}${text}`), key.publicKey, bytes.subarray(-64));
  must(isRight, `the signature of ${name} is wrong`);
  return key;
};

/** The text of a note that the log has signed, and how many witnesses have. */
const openNote = (/** @type {string} */ note, /** @type {Key[]} */ keys, /** @type {string} */ origin) => {
  const end = note.lastIndexOf('\n\n') + 1;
  const [text, lines] = [note.slice(0, end), note.slice(end + 1).split('\n')];
  must(end > 1 && lines.pop() === '' && lines.length <= 100, 'this is no signed note');
  const signers = lines.flatMap((line) => signerOf(line, text, keys) ?? []);
  const isOfLog = signers.some(({ name, isWitness }) => name === origin && !isWitness);
  must(isOfLog, `none of the keys of ${origin} has signed it`);
  const witnesses = signers.filter(({ isWitness }) => isWitness);
  return { text, witnesses: new Set(witnesses.map(({ base64 }) => base64)).size };
};

/** The text of a checkpoint (c2sp.org/tlog-checkpoint): origin, size, root, and lines that say no more. */
const treeIn = (/** @type {string} */ text, /** @type {string} */ origin) => {
  const [name, size = '', root = ''] = text.split('\n');
  must(name === origin && /^(0|[1-9]\d{0,15})$/.test(size), `this is no checkpoint of ${origin}`);
  must(isCount(Number(size)), 'the tree is larger than can be counted here');
  return { size: Number(size), root: fromBase64(root, 32) };
};

// Trees of hashes (RFC 6962). `leafOf` says what a leaf is made of: it fixes all that is said of an event.

const nodeOf = (/** @type {Buffer} */ left, /** @type {Buffer} */ right) => sha256('\x01', left, right);

/** @type {(event: Fields, hash: string) => Buffer} */
const leafOf = ({ stream, revision, org, org_seq: sequence }, hash) => {
  const lines = ['handwritten-card-service/event/v1', stream, revision, hash, org ?? '', sequence, ''];
  return sha256('\0', lines.join('\n'));
};

/** For each step from a leaf up to the root: does the neighbour stand on the left? */
const stepsOf = (/** @type {number} */ index, /** @type {number} */ size) => {
  const steps = [];
  let [at, count] = [index, size];
  while (count > 1) {
    const half = 2 ** ((count - 1).toString(2).length - 1);
    steps.unshift(at >= half);
    [at, count] = at >= half ? [at - half, count - half] : [at, half];
  }
  return steps;
};

/** The root above a node, from its neighbours on the way up. */
/** @type {(node: Buffer, steps: boolean[], neighbours: Buffer[]) => Buffer} */
const rootAbove = (node, steps, neighbours) => {
  must(steps.length === neighbours.length, 'a proof has another length');
  const join = (/** @type {Buffer} */ below, /** @type {Buffer} */ other, /** @type {number} */ at) =>
    steps[at] ? nodeOf(other, below) : nodeOf(below, other);
  return neighbours.reduce(join, node);
};

/** An inclusion proof (RFC 6962, 2.1.1): the leaf stands at this index of the tree. */
/** @type {(tree: Tree, index: number, leaf: Buffer, proof: string[]) => void} */
const mustHold = (tree, index, leaf, proof) => {
  must(index < tree.size, `the tree has no leaf ${index}`);
  const root = rootAbove(leaf, stepsOf(index, tree.size), hashesIn(proof));
  must(root.equals(tree.root), `the proof of leaf ${index} leads to another root`);
};

/**
 * A proof of consistency (RFC 6962, 2.1.2): an older tree is a prefix of this one. The proof climbs from the
 * largest subtree that ends where the older tree ends; what stands on its left is in both trees.
 */
const mustBegin = (/** @type {Tree} */ older, /** @type {Tree} */ tree, /** @type {Buffer[]} */ proof) => {
  must(older.size <= tree.size, 'the older tree is larger');
  if (older.size === 0 || older.size === tree.size) {
    const same = older.size === 0 ? sha256() : tree.root;
    must(proof.length === 0 && older.root.equals(same), 'the older tree has another root');
    return;
  }
  const digits = older.size.toString(2);
  const height = digits.length - 1 - digits.lastIndexOf('1');
  const steps = stepsOf(older.size - 1, tree.size).slice(height);
  const [start, others] =
    older.size === 2 ** height ? [older.root, proof] : [proof[0] ?? older.root, proof.slice(1)];
  const root = rootAbove(start, steps, others);
  const isLeft = (/** @type {unknown} */ _, /** @type {number} */ at) => steps[at] === true;
  const before = rootAbove(start, steps.filter(isLeft), others.filter(isLeft));
  must(before.equals(older.root) && root.equals(tree.root), 'the proof leads to another root');
};

/** A tree that grows leaf by leaf: the roots of its complete subtrees, the largest first. */
const growingTree = (/** @type {number} */ from, /** @type {Buffer[]} */ frontier) => {
  const subtrees = from.toString(2).replaceAll('0', '').length;
  must(frontier.length === subtrees, `a tree of ${from} leaves has ${subtrees} complete subtrees`);
  const roots = [...frontier];
  let size = from;
  const add = (/** @type {Buffer} */ leaf) => {
    let node = leaf;
    for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) node = nodeOf(roots.pop() ?? node, node);
    roots.push(node);
    size += 1;
  };
  const tree = () => {
    const root = roots.length === 0 ? sha256() : roots.reduceRight((right, left) => nodeOf(left, right));
    return { size, root };
  };
  return { add, tree };
};

// Events. Hash, leaf and proof together cover all that a line says of its event.

/** The line of an event, what its texts hold, and the part of the metadata that the hash covers. */
const eventIn = (/** @type {string} */ kind, /** @type {Fields} */ fields) => {
  const line = checkFields(fields, eventShape(kind, fields), 'the line of an event');
  const [name, data, metadata] = [
    `${line.stream}@${line.revision}`,
    parsed(line.data),
    parsed(line.metadata),
  ];
  const [, covered, hash = ''] = /^([^]*),"hash":"([0-9a-f]{64})"}$/.exec(line.metadata) ?? [];
  must(covered !== undefined, `the metadata of ${name} does not end with a hash`);
  must(
    metadata.chain === 2,
    `${name} has version ${metadata.chain} of the chain, and version 2 alone is known`,
  );
  must(metadata.org === line.org, `${name} is of another organization`);
  const at = Date.parse(metadata.occurredAt);
  must(!Number.isNaN(at), `${name} has no time`);
  const { personal: stamp, causationId } = metadata;
  return { ...line, name, facts: data, covered: `${covered}}`, hash, at, stamp, causationId };
};

/** Each event gives its hash, which covers the hash of the event before it in its stream. */
const chainChecker = (/** @type {number} */ from) => {
  const streams = new Map();
  return (/** @type {Fields} */ { name, stream, revision, type, id, data, covered, hash, previous }) => {
    const before = streams.get(stream) ?? { revision: -1, hash: '' };
    // The beginning of a stream may lie before a period: then the first of its events says what it follows.
    const isCut = from > 0 && revision > 0 && !streams.has(stream);
    must(isCut === (previous !== undefined), `${name} ${isCut ? 'lacks' : 'must not have'} previous`);
    must(isCut || revision === before.revision + 1, `${name} does not follow the event before it`);
    const parts = [previous ?? before.hash, stream, revision, type, id, data, covered];
    must(sha256(parts.join('\n')).toString('hex') === hash, `${name} has another hash`);
    streams.set(stream, { revision, hash });
  };
};

/** Opens sealed personal data; throws unless the key is the one that it was sealed with. */
const checkSealed = (/** @type {Fields} */ { name, id, personal, key }) => {
  const { iv, sealed, commit } = parsed(personal);
  const secret = fromBase64(key, 32);
  const commitment = sha256('handwritten-card-service/personal-key/v1\n', secret).toString('base64');
  must(commitment === commit, `${name} was sealed with another key`);
  const bytes = fromBase64(sealed);
  const box = createDecipheriv('aes-256-gcm', secret, fromBase64(iv, 12), { authTagLength: 16 });
  box.setAAD(Buffer.from(id)).setAuthTag(bytes.subarray(-16));
  parsed(Buffer.concat([box.update(bytes.subarray(0, -16)), box.final()]).toString());
};

const erasures = ['CardErased', 'ContactErased', 'ContactDeleted', 'DoNotMailRemoved'];

/** Personal data that is shown is what was recorded. Without a key it is erased only if an event says so. */
const personalChecker = () => {
  const counts = { shown: 0, withheld: 0, erased: 0 };
  /** How many events of each stream have lost their key, and no erasure has followed yet. */
  const lost = new Map();
  const take = (/** @type {Fields} */ event) => {
    const { name, stream, type, personal, key, stamp } = event;
    must((stamp === null) === (key === undefined), `${name} has a key, or lacks one`);
    must(personal !== null || (key ?? null) === null, `${name} has a key for nothing`);
    if (erasures.includes(type)) {
      counts.erased += lost.get(stream) ?? 0;
      lost.delete(stream);
    }
    if (personal === null) {
      if (stamp !== null) counts.withheld += 1;
      return;
    }
    must(sha256(personal).toString('hex') === stamp?.digest, `${name} was recorded with other personal data`);
    if (key === null) lost.set(stream, (lost.get(stream) ?? 0) + 1);
    else {
      checkSealed(event);
      counts.shown += 1;
    }
  };
  const unreadable = () => [...lost.values()].reduce((sum, count) => sum + count, 0);
  const detail = () => {
    const { shown, withheld, erased } = counts;
    return `: ${shown} shown, ${withheld} withheld, ${erased} erased, ${unreadable()} unreadable`;
  };
  return { take, detail, lost: unreadable };
};

/**
 * An event names the front of a card, of a design or of a card of the collection by the SHA-256 of its print
 * master. After the events, each that was named has a line with these bytes, in the order in which they were.
 */
const frontChecker = () => {
  const missing = new Set();
  const counts = { shown: 0, erased: 0 };
  const take = (/** @type {Fields} */ { facts: { order, design, artwork } }) => {
    const front = order?.design.front ?? (design?.artwork ?? artwork)?.digest;
    if (front) missing.add(front);
  };
  const show = (/** @type {Fields} */ fields) => {
    const { front, bytes } = checkFields(fields, frontShape, 'the line of a front');
    const [next] = missing;
    must(front === next, `${front} is not the next front that the events name`);
    missing.delete(front);
    counts[bytes === null ? 'erased' : 'shown'] += 1;
    if (bytes === null) return;
    const master = Buffer.from(bytes, 'base64');
    const isIt = master.toString('base64') === bytes && sha256(master).toString('hex') === front;
    must(isIt, `front ${front} has other bytes`);
  };
  const end = () => {
    const [front] = missing;
    must(front === undefined, `front ${front} is missing`);
    return `: ${counts.shown} shown, ${counts.erased} erased`;
  };
  return { take, show, end, counts };
};

/** Of an organization each number is there; of a card each revision, which `chainChecker` sees to. */
const numberChecker = (/** @type {Fields} */ { kind, subject, from = 0 }, /** @type {Tree} */ tree) => {
  const isOfAll = kind === 'period' && subject === 'all';
  const next = new Map();
  /** @type {Fields[]} */
  const shown = [];
  const take = (/** @type {Fields} */ event) => {
    const { name, stream, org, org_seq: sequence, before } = event;
    must(isOfAll || (kind === 'card' ? stream : org) === subject, `${name} is not of ${subject}`);
    // A period begins after some events of its organization. The last of them stands in the log before it.
    const isCut = kind === 'period' && !isOfAll && shown.length === 0 && sequence > 0;
    must(isCut === (before !== undefined), `${name} ${isCut ? 'lacks' : 'must not have'} before`);
    if (isCut) {
      must(before.org === org && before.org_seq === sequence - 1, `event ${sequence - 1} is missing`);
      must(before.index < from, `event ${sequence - 1} is not before the period`);
      mustHold(tree, before.index, leafOf(before, before.hash), before.proof);
    }
    const expected = next.get(org) ?? (isOfAll || isCut ? sequence : 0);
    must(kind === 'card' || sequence === expected, `event ${expected} of ${org} is missing`);
    next.set(org, sequence + 1);
    shown.splice(Math.min(shown.length, 1), 1, event);
  };
  const numberOf = (/** @type {Fields | undefined} */ event) =>
    kind === 'card' ? `revision ${event?.['revision']}` : `event ${event?.['org_seq']}`;
  const detail = () =>
    isOfAll || shown.length === 0 ? '' : `, from ${numberOf(shown[0])} to ${numberOf(shown.at(-1))}`;
  /** Claims that the file can't prove. */
  const unproven = () => {
    const last = shown.at(-1);
    const isEnd = tree.size === (last?.['index'] ?? from - 1) + 1;
    if (isOfAll || (last === undefined && isEnd)) return [];
    if (last === undefined) return [`the period has no event of ${subject}`];
    // A second leaf with one of the numbers may stand among those that are not shown.
    const alone = `no other event of ${subject} has one of these numbers`;
    return isEnd ? [alone] : [alone, `no event of ${subject} follows ${numberOf(last)}`];
  };
  return { take, detail, unproven };
};

/** Each event stands in the tree: by a proof of its own, or because the leaves of a period give the root. */
const placeChecker = (/** @type {Fields} */ { kind, from = 0, frontier = [] }, /** @type {Tree} */ tree) => {
  const growing = growingTree(from, hashesIn(frontier));
  let expected = from;
  const addLeaf = (/** @type {Buffer} */ leaf) => {
    growing.add(leaf);
    expected += 1;
  };
  const take = (/** @type {Fields} */ event) => {
    const { name, index, hash, proof } = event;
    const isThere = kind === 'period' ? index === expected : index >= expected;
    must(isThere, `${name} stands in the wrong place`);
    if (kind === 'period') return addLeaf(leafOf(event, hash));
    mustHold(tree, index, leafOf(event, hash), proof);
    expected = index + 1;
  };
  const end = () => {
    if (kind !== 'period') return must(expected > 0, 'it shows no event');
    const { size, root } = growing.tree();
    must(size === tree.size && root.equals(tree.root), 'the leaves of the period lead to another root');
  };
  return { take, addLeaf, end };
};

// Credits. For a while a card may be paid for and not yet written, and a credit owed and not yet back: the
// service mends within a minute what a crash has left.
const maxOpen = 300_000;

/** Balances add up, nothing moves money twice, and what one event begins another one ends. */
const creditChecker = (/** @type {number} */ from) => {
  const balances = new Map();
  const causes = new Set();
  const open = new Map();
  const sums = { before: 0, CreditsPurchased: 0, CreditReturned: 0, CreditSpent: 0, CreditsWithdrawn: 0 };
  let [oldest, newest] = [Infinity, 0];

  /** Takes one half of a pair. Its other half has the opposite amount. */
  const pair = (/** @type {string} */ name, /** @type {number} */ amount, /** @type {number} */ at) => {
    const { sum, since } = open.get(name) ?? { sum: 0, since: at };
    if (sum + amount === 0) open.delete(name);
    else open.set(name, { sum: sum + amount, since });
  };
  const move = (/** @type {Fields} */ { name, stream, revision, type, facts, at }) => {
    const { cause, amount, balance } = facts;
    const kind = /** @type {keyof typeof sums} */ (type);
    must(Object.hasOwn(sums, kind), `${name} moves no credits`);
    const change = kind === 'CreditsPurchased' || kind === 'CreditReturned' ? amount : -amount;
    // A ledger that began before the period says itself what it held then.
    const before = balances.get(stream) ?? (revision === 0 ? 0 : balance - change);
    must(isCount(amount) && amount > 0 && isCount(balance), `${name} moves no whole credits`);
    must(before + change === balance, `${name} leaves another balance`);
    const once = `${stream} ${type} ${JSON.stringify(cause)}`;
    must(!causes.has(once), `${name} repeats a cause`);
    causes.add(once);
    if (!balances.has(stream)) sums.before += before;
    sums[kind] += amount;
    balances.set(stream, balance);
    // A credit was spent for a place in a card's stream, or came back because nothing of its own came there.
    const slot = cause.void ?? cause;
    if (slot.command) pair(`card-${slot.card}@${slot.revision} ${slot.command}`, -change, at);
    if (cause.owed) pair(`card-${cause.owed.card}@${cause.owed.revision} owes`, -amount, at);
    if (kind === 'CreditsPurchased') pair(`purchase-${cause}`, -amount, at);
  };
  const take = (/** @type {Fields} */ event) => {
    const { name, stream, type, facts, at, causationId } = event;
    [oldest, newest] = [Math.min(oldest, at), Math.max(newest, at)];
    if (type === 'CardScheduled' || type === 'CardReleased') pair(`${name} ${causationId}`, -1, at);
    if (stream.startsWith('card-') && facts.owes > 0) pair(`${name} owes`, facts.owes, at);
    if (type === 'PurchaseOrdered') pair(stream, facts.amount, at);
    if (stream.startsWith('credits-')) move(event);
  };
  const detail = () => {
    // What a period ends may have begun shortly before it. A purchase without a reference has no order.
    const isDue = (
      /** @type {string} */ name,
      /** @type {{ sum: number, since: number }} */ { sum, since },
    ) => sum > 0 || (!name.startsWith('purchase-') && (from === 0 || since - oldest > maxOpen));
    const left = [...open].filter(([name, half]) => isDue(name, half));
    for (const [name, { since }] of left) must(newest - since <= maxOpen, `${name} stands alone`);
    const terms = [
      sums.before > 0 ? `${sums.before} before + ` : '',
      `${sums.CreditsPurchased} purchased`,
      sums.CreditsWithdrawn > 0 ? ` - ${sums.CreditsWithdrawn} withdrawn` : '',
      ` - ${sums.CreditSpent} spent + ${sums.CreditReturned} returned`,
    ];
    const added = sums.before + sums.CreditsPurchased + sums.CreditReturned;
    const sum = added - sums.CreditsWithdrawn - sums.CreditSpent;
    return `: ${terms.join('')} = ${sum}${left.length === 0 ? '' : `, ${left.length} on the way`}`;
  };
  return { take, detail };
};

// The file, from its first line to its last.

/** The findings: the failure that each check met first, or its result. */
const newReport = () => {
  /** @type {Map<string, { detail: string, failure: string | null }>} */
  const checks = new Map();
  /** @type {string[]} */
  const said = [];
  /** @type {<T>(name: string, work: () => T) => T | null} */
  const check = (name, work) => {
    const found = checks.get(name) ?? { detail: '', failure: null };
    checks.set(name, found);
    try {
      const result = work();
      if (typeof result === 'string') found.detail = result;
      return result;
    } catch (error) {
      found.failure ??= error instanceof Error ? error.message : 'it is malformed';
      return null;
    }
  };
  const result = () => {
    const lines = [...checks].map(([name, { detail, failure }]) =>
      failure === null ? `PASS  ${name}${detail}` : `FAIL  ${name}: ${failure}`,
    );
    const verified = [...checks.values()].every(({ failure }) => failure === null);
    // What stands in the file must not be taken for what is said here.
    const report = [...lines, ...said].map((line) => line.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '?'));
    return { report: [...report, verified ? 'VERIFIED' : 'NOT VERIFIED'], verified };
  };
  const say = (/** @type {string} */ what) =>
    said.push(`SAID  ${what}: the operator's statement alone says so`);
  return { check, say, result };
};

/** Cuts a file into its lines, and says where the last one begins. */
const cut = (/** @type {Buffer} */ file) => {
  must(file.length > 0 && file.indexOf(10, -1) === file.length - 1, 'its last line does not end');
  const lines = [];
  for (let at = 0; at < file.length;) {
    const end = file.indexOf(10, at);
    lines.push({ bytes: file.subarray(at, end), at, end: end + 1 });
    at = end + 1;
  }
  const [first, last] = [lines.shift(), lines.pop()];
  must(first !== undefined && last !== undefined, 'it has no first and last line');
  return { first, events: lines, last };
};

const lineIn = (/** @type {{ bytes: Buffer }} */ { bytes }) => {
  const text = bytes.toString();
  must(Buffer.from(text).equals(bytes), 'it is not written in UTF-8');
  return parsed(text);
};

/** @type {(file: Buffer, options: Options, report: ReturnType<typeof newReport>) => void} */
const checkFile = (file, options, { check, say }) => {
  const { keys, witnesses = [], quorum = witnesses.length, anchor, onLine } = options;
  const { first, events, last } = cut(file);
  const head = lineIn(first);
  const {
    kind,
    subject,
    origin,
    from = 0,
    since,
    artwork,
  } = checkFields(head, headShape(head), 'the first line');
  const { checkpoint, statement, consistency } = checkFields(lineIn(last), lastShape, 'the last line');
  const known = [...keys.map((vkey) => keyOf(vkey, false)), ...witnesses.map((vkey) => keyOf(vkey, true))];
  const open = (/** @type {string} */ note) => openNote(note, known, origin);

  const ofOne = kind === 'period' && subject !== 'all';
  const names = {
    signed: 'the checkpoint is signed by the log',
    chain: 'every event gives its hash, and follows the one before it in its stream',
    personal: 'personal data is what was recorded',
    fronts: 'every front that an event names has the bytes that it was recorded with',
    numbers:
      kind === 'period' && !ofOne
        ? 'no event of the period is missing'
        : `no number of the ${ofOne ? 'organization' : kind}'s events is missing`,
    places: 'every event stands in the log',
    credits: 'credits add up, every card is paid for once, what was owed came back',
  };
  const opened = check(names.signed, () => open(checkpoint));
  if (opened === null) return;
  const tree = treeIn(opened.text, origin);
  const root = tree.root.toString('base64');
  check(names.signed, () => {
    must(tree.size === head.tree_size, 'the first line names another tree');
    return `: ${tree.size} events, root ${root.slice(0, 8)}…`;
  });
  check('enough witnesses have signed it', () =>
    must(opened.witnesses >= quorum, `fewer than ${quorum} have`),
  );
  const proof = hashesIn(consistency);
  const begins = (/** @type {() => Tree} */ older) => () => mustBegin(older(), tree, proof);
  must(since !== undefined || proof.length === 0, 'it has a proof for an older tree that it does not name');
  const older = begins(() => ({ size: since.size, root: fromBase64(since.root, 32) }));
  if (since !== undefined) check('the older tree that it names is a prefix of this log', older);
  const anchored = begins(() => treeIn(open(anchor ?? '').text, origin));
  if (anchor !== undefined) check('the older checkpoint is a prefix of this log', anchored);

  const [chain, personal, credits] = [chainChecker(from), personalChecker(), creditChecker(from)];
  const [numbers, places, fronts] = [numberChecker(head, tree), placeChecker(head, tree), frontChecker()];
  let [shown, newest] = [0, ''];
  const takeEvent = (/** @type {Fields} */ fields) => {
    const event = eventIn(kind, fields);
    check(names.chain, () => chain(event));
    check(names.personal, () => personal.take(event));
    if (artwork) check(names.fronts, () => fronts.take(event));
    check(names.numbers, () => numbers.take(event));
    check(names.places, () => places.take(event));
    if (kind !== 'card') check(names.credits, () => credits.take(event));
    [shown, newest] = [shown + 1, event.hash];
  };
  for (const line of events) {
    const fields = lineIn(line);
    const isFront = artwork && 'front' in fields;
    must(isFront || fronts.counts.shown + fronts.counts.erased === 0, 'an event stands after a front');
    // A period of one organization shows others' events by their leaves alone.
    if (isFront) check(names.fronts, () => fronts.show(fields));
    else if (!ofOne || !('leaf' in fields)) takeEvent(fields);
    else {
      const { leaf } = checkFields(fields, { leaf: isHash }, 'the line of a leaf');
      check(names.places, () => places.addLeaf(fromBase64(leaf, 32)));
    }
    onLine?.(line.end);
  }

  check(names.places, places.end);
  if (shown > 0 || subject === 'all') check(names.numbers, numbers.detail);
  check(names.personal, personal.detail);
  if (artwork) check(names.fronts, fronts.end);
  if (kind !== 'card') check(names.credits, credits.detail);
  check('the service has signed what this export holds', () => {
    const body = sha256(file.subarray(0, last.at)).toString('hex');
    const about = `handwritten-card-service/statement/v1\n${kind} ${subject}\ntree ${tree.size} ${root}\n`;
    const wanted = `${about}events ${shown}\nlast ${newest}\nbody ${body}\n`;
    must(open(statement).text === wanted, 'it has signed something else');
  });
  numbers.unproven().forEach(say);
  const lost = personal.lost();
  if (fronts.counts.erased > 0) say('fronts without bytes were erased');
  if (lost > 0) say(`the keys of ${lost} are lost, and no erasure in this file says why`);
};

/** @type {(file: Buffer, options: Options) => { report: string[], verified: boolean }} */
export const verifyExport = (file, options) => {
  const report = newReport();
  report.check('the file is an export', () => checkFile(file, options, report));
  return report.result();
};

// The command line. What is not understood is never taken for verified.

const optionsIn = (/** @type {string[]} */ args) => {
  const several = /** @type {const} */ ({ type: 'string', multiple: true });
  const single = /** @type {const} */ ({ type: 'string' });
  const options = { key: several, witness: several, quorum: single, anchor: single };
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const [path, ...others] = positionals;
  must(path !== undefined && others.length === 0, 'Name one file.');
  const { key: keys = [], witness: witnesses = [], quorum, anchor } = values;
  must(quorum === undefined || /^\d+$/.test(quorum), '--quorum must be a whole number.');
  const text = anchor === undefined ? undefined : readFileSync(anchor, 'utf8');
  return { path, keys, witnesses, quorum: quorum === undefined ? undefined : Number(quorum), anchor: text };
};

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === import.meta.filename) {
  process.exitCode = 1;
  try {
    const { path, ...options } = optionsIn(process.argv.slice(2));
    const { report, verified } = verifyExport(readFileSync(path), options);
    process.stdout.write(`${report.join('\n')}\n`);
    if (verified) process.exitCode = 0;
  } catch (error) {
    process.stdout.write(`${String(error)}\nNOT VERIFIED\n`);
  }
}
